"""A batch query reads what its options mean, decided once."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.batch import plan_batch
from tapelog.spark.plan.errors import DataLossError, MissingTopicError, OptionError
from tapelog.spark.plan.filters import Filter
from tapelog.spark.plan.values import TopicPartition
from tests.unit.spark.plan.world import World, options, told, world

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_everything_there_is_by_default_and_empty_partitions_make_no_task() -> None:
    assert told(plan_batch(options(), world(t=[(0, 10), (5, 8), (4, 4)], u=[(0, 3)]))) == "t-0:0-10 t-1:5-8"


def test_topics_are_found_by_name_pattern_or_partition() -> None:
    there = world(orders=[(0, 1)], clicks=[(0, 2), (0, 3)], my_orders=[(0, 4)])
    assert told(plan_batch(options(subscribe="orders,clicks"), there)) == "clicks-0:0-2 clicks-1:0-3 orders-0:0-1"
    assert told(plan_batch(options(subscribePattern="orders"), there)) == "my_orders-0:0-4 orders-0:0-1"
    assert told(plan_batch(options(assign='{"clicks":[1]}'), there)) == "clicks-1:0-3"


def test_a_pattern_that_matches_nothing_reads_nothing_and_says_so() -> None:
    plan = plan_batch(options(subscribePattern="zzz"), world(t=[(0, 1)]))
    assert plan.ranges == () and "matches no topic" in plan.warnings[0]


def test_a_missing_topic_is_told_with_the_nearest_one() -> None:
    with pytest.raises(MissingTopicError, match="Did you mean 'orders'") as raised:
        plan_batch(options(subscribe="order"), world(orders=[(0, 1)]))
    assert str(raised.value).count("\n") <= 2
    with pytest.raises(MissingTopicError, match="orders-7"):
        plan_batch(options(assign='{"orders":[0,7]}'), world(orders=[(0, 1)]))
    with pytest.raises(MissingTopicError, match="'x'"):
        plan_batch(options(assign='{"x":[0]}'), world(orders=[(0, 1)]))


def test_offsets_by_partition_with_latest_and_earliest() -> None:
    found = options(startingOffsets='{"t":{"0":3,"1":-2}}', endingOffsets='{"t":{"0":-1,"1":7}}')
    assert told(plan_batch(found, world(t=[(0, 10), (5, 8)]))) == "t-0:3-10 t-1:5-7"


def test_offsets_must_name_what_is_read() -> None:
    with pytest.raises(OptionError, match=r"startingOffsets leaves out t-1 and names t-2"):
        plan_batch(options(startingOffsets='{"t":{"0":3,"2":1}}'), world(t=[(0, 10), (5, 8)]))
    with pytest.raises(OptionError, match="endingOffsetsByTimestamp leaves out t-1"):
        plan_batch(options(endingOffsetsByTimestamp='{"t":{"0":3}}'), world(t=[(0, 10), (5, 8)]))


def timed() -> World:
    there = world(t=[(0, 4), (10, 12)])
    there.timestamps = {T0: (100, 200, 150, 300), T1: (50, 60)}
    return there


def test_timestamps_mean_the_first_record_as_young() -> None:
    found = options(startingTimestamp="120", endingTimestamp="250", startingOffsetsByTimestampStrategy="latest")
    assert told(plan_batch(found, timed())) == "t-0:1-3"


def test_a_start_later_than_every_record_is_an_error_unless_told_otherwise() -> None:
    with pytest.raises(OptionError, match=r"No record of t-1 .*\(120 ms\)") as raised:
        plan_batch(options(startingTimestamp="120"), timed())
    assert "startingOffsetsByTimestampStrategy=latest" in str(raised.value)


def test_an_end_later_than_every_record_means_latest() -> None:
    assert told(plan_batch(options(endingOffsetsByTimestamp='{"t":{"0":150,"1":999}}'), timed())) == "t-0:0-1 t-1:10-12"


def test_an_end_before_the_start_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"start at offset 3 of t-0 and end at 1"):
        plan_batch(
            options(startingTimestamp="250", endingTimestamp="120", startingOffsetsByTimestampStrategy="latest"),
            timed(),
        )


def test_offsets_that_retention_removed_stop_the_query_or_are_passed_over() -> None:
    there = world(t=[(250, 300)])
    asked = {"startingOffsets": '{"t":{"0":100}}'}
    with pytest.raises(DataLossError) as raised:
        plan_batch(options(**asked), there)
    text = str(raised.value)
    for part in ("t-0", "100", "250", "150 are gone", "failOnDataLoss=false", "retention.ms"):
        assert part in text
    assert text.count("\n") <= 2
    plan = plan_batch(options(failOnDataLoss="false", **asked), there)
    assert told(plan) == "t-0:250-300" and "begins at 250" in plan.warnings[0]


def test_offsets_that_were_never_written_stop_the_query_or_are_passed_over() -> None:
    asked = {"endingOffsets": '{"t":{"0":500}}'}
    with pytest.raises(DataLossError, match="up to offset 500, but ends at 300"):
        plan_batch(options(**asked), world(t=[(0, 300)]))
    assert told(plan_batch(options(failOnDataLoss="false", **asked), world(t=[(0, 300)]))) == "t-0:0-300"


@pytest.mark.parametrize("ending", [{}, {"endingOffsets": '{"t":{"0":500}}'}])
def test_a_start_beyond_the_end_is_blamed_on_the_option_that_was_given(ending: dict[str, str]) -> None:
    asked = ending | {"startingOffsets": '{"t":{"0":400}}'}
    with pytest.raises(DataLossError, match="from offset 400, but ends at 300") as raised:
        plan_batch(options(**asked), world(t=[(0, 300)]))
    assert "startingOffsets" in str(raised.value) and "endingOffsets" not in str(raised.value)
    plan = plan_batch(options(failOnDataLoss="false", **asked), world(t=[(0, 300)]))
    assert told(plan) == "" and len(plan.warnings) == 1


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"startingOffsets": '{"t":{"0":50}}'}, "from offset 50"),
        ({"endingOffsets": '{"t":{"0":100}}'}, "up to offset 100"),
    ],
)
def test_an_open_transaction_is_named_where_it_hides_what_was_written(asked: dict[str, str], part: str) -> None:
    there = world(t=[(0, 100)])
    there.stable = {T0: 30}
    committed = asked | {"kafka.isolation.level": "read_committed"}
    with pytest.raises(DataLossError, match=f"{part}, but a transaction is open at offset 30") as raised:
        plan_batch(options(**committed), there)
    text = str(raised.value)
    assert "read_committed" in text and text.count("\n") <= 2
    assert not any(blame in text for blame in ("made anew", "was lost", "beyond"))
    plan = plan_batch(options(failOnDataLoss="false", **committed), there)
    assert "a transaction is open at offset 30" in plan.warnings[0]


def test_offsets_beyond_what_was_written_are_not_blamed_on_an_open_transaction() -> None:
    there = world(t=[(0, 100)])
    there.stable = {T0: 30}
    asked = {"endingOffsets": '{"t":{"0":101}}', "kafka.isolation.level": "read_committed"}
    with pytest.raises(DataLossError, match="Data was lost: t-0 was to be read up to offset 101, but ends at 30"):
        plan_batch(options(**asked), there)


def test_no_second_end_is_asked_for_where_nothing_is_missing() -> None:
    there = world(t=[(0, 100)])
    plan_batch(options(endingOffsets='{"t":{"0":90}}', kafka__isolation__level="read_committed"), there)
    assert there.asked.count("latest") == 1


@pytest.mark.parametrize("asked", [{"startingOffsets": '{"t":{"0":100}}'}, {"endingOffsets": '{"t":{"0":500}}'}])
@pytest.mark.parametrize("repeatable", [False, True])
def test_a_batch_is_not_told_of_checkpoints(asked: dict[str, str], repeatable: bool) -> None:
    if repeatable:
        whole = {"startingOffsets": '{"t":{"0":100}}', "endingOffsets": '{"t":{"0":280}}', "repeatable": "true"}
        asked = whole
    with pytest.raises(DataLossError, match="failOnDataLoss=false; or change the options") as raised:
        plan_batch(options(**asked), world(t=[(250, 300)]))
    assert "checkpoint" not in str(raised.value)


def test_read_committed_ends_at_the_last_stable_offset() -> None:
    there = world(t=[(0, 10)])
    there.stable = {T0: 6}
    assert told(plan_batch(options(kafka__isolation__level="read_committed"), there)) == "t-0:0-6"
    assert told(plan_batch(options(), there)) == "t-0:0-10"


def test_partitions_that_filters_rule_out_are_not_read() -> None:
    filters = [Filter("partition", "=", 1), Filter("offset", ">=", 6)]
    assert told(plan_batch(options(), world(t=[(0, 10), (5, 8)]), filters=filters)) == "t-1:6-8"


def test_min_partitions_cuts_what_filters_left() -> None:
    found = options(minPartitions="2")
    assert told(plan_batch(found, world(t=[(0, 10)]), filters=[Filter("offset", "<", 4)])) == "t-0:0-2 t-0:2-4"


def test_the_cluster_is_asked_as_little_as_possible() -> None:
    there = world(t=[(0, 10)])
    plan_batch(options(), there)
    assert there.asked == ["partitions", "earliest", "latest"]
