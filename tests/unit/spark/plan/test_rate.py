"""A trigger takes what Spark's Kafka source would take."""

from __future__ import annotations

from tapelog.spark.plan.rate import WEIGHT_UNKNOWN, Pace, limit_bytes, limit_offsets, waiting, weights_of
from tapelog.spark.plan.values import TopicPartition

A, B, C = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2)


def test_the_limit_is_shared_in_proportion_to_what_waits() -> None:
    assert limit_offsets(10, {A: 0, B: 0, C: 0}, {A: 100, B: 300, C: 600}) == {A: 1, B: 3, C: 6}


def test_shares_above_one_are_rounded_down_and_those_below_one_up() -> None:
    # 10 x 990 / 1000 = 9.9 and 10 x 5 / 1000 = 0.05 (these are the roundings of Spark's source)
    assert limit_offsets(10, {A: 0, B: 0, C: 0}, {A: 990, B: 5, C: 5}) == {A: 9, B: 1, C: 1}


def test_no_partition_goes_past_its_end_and_an_empty_one_stays() -> None:
    assert limit_offsets(1000, {A: 5, B: 7}, {A: 10, B: 7}) == {A: 10, B: 7}
    assert limit_offsets(10, {A: 5}, {A: 5}) == {A: 5}


def test_a_partition_that_went_back_keeps_its_end_for_whoever_reports_it() -> None:
    assert limit_offsets(4, {A: 10, B: 0}, {A: 3, B: 8}) == {A: 3, B: 4}


def test_a_partition_without_a_start_keeps_its_end() -> None:
    assert limit_offsets(4, {B: 0}, {A: 3, B: 8}) == {A: 3, B: 4}


def test_offsets_near_the_end_of_the_numbers_do_not_overflow() -> None:
    end = 2**63 - 1
    assert limit_offsets(2**63 - 1, {A: end - 10}, {A: end}) == {A: end}


def test_bytes_are_shared_by_weight() -> None:
    ends = limit_bytes(1000, {A: 0, B: 0}, {A: 100, B: 100}, {A: 10.0, B: 90.0})
    assert ends == {A: 10, B: 10}  # a tenth of all: 100 + 900 bytes


def test_everything_is_taken_where_it_fits() -> None:
    assert limit_bytes(1000, {A: 0, B: 0}, {A: 10, B: 10}, {A: 10.0, B: 90.0}) == {A: 10, B: 10}


def test_a_record_larger_than_the_limit_is_still_read() -> None:
    assert limit_bytes(1, {A: 5, B: 0}, {A: 9, B: 3}, {A: 1e6, B: 1e6}) == {A: 6, B: 1}


def test_unknown_weights_are_the_average_of_the_known() -> None:
    assert weights_of({A: 1, B: 1, C: 1}, {A: 10.0, B: 30.0, C: 0.0}) == {A: 10.0, B: 30.0, C: 20.0}
    assert weights_of({A: 1}, {B: 5.0}) == {A: WEIGHT_UNKNOWN}


def test_a_small_trigger_waits_until_the_delay_is_over() -> None:
    first = Pace().after(1_000_000, 0, at_least=100, delay_ms_max=60_000)
    assert first == Pace(1_000_000)  # the first is let through, as in Spark
    assert first.after(1_059_999, 99, at_least=100, delay_ms_max=60_000) is None
    assert first.after(1_060_000, 1, at_least=100, delay_ms_max=60_000) == Pace(1_060_000)
    assert first.after(1_000_001, 100, at_least=100, delay_ms_max=60_000) == Pace(1_000_001)


def test_what_waits_is_counted_without_partitions_that_went_back() -> None:
    assert waiting({A: 5, B: 9}, {A: 8, B: 3, C: 4}) == 3
