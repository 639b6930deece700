"""A streaming query: beginnings, triggers, partitions that come and go, and what is lost."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.errors import DataLossError, MissingTopicError
from tapelog.spark.plan.loss import next_available
from tapelog.spark.plan.rate import Pace
from tapelog.spark.plan.split import PIECE_OFFSETS
from tapelog.spark.plan.stream import advance, initial, may_differ_again, plan_stream
from tapelog.spark.plan.values import Offsets, TopicPartition, placed
from tests.unit.spark.plan.world import World, options, told, world

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def ends(there: World, start: Offsets, **more: str) -> dict[TopicPartition, int]:
    return advance(options(True, **more), there, start, now_ms=10**12).end


def test_a_query_begins_at_the_latest_unless_told_otherwise() -> None:
    there = world(t=[(2, 10), (5, 8)])
    there.timestamps = {T0: (1, 2, 3), T1: (2, 3)}
    assert initial(options(True), there) == {T0: 10, T1: 8}
    assert initial(options(True, startingOffsets="earliest"), there) == {T0: 2, T1: 5}
    assert initial(options(True, startingOffsets='{"t":{"0":3,"1":-1}}'), there) == {T0: 3, T1: 8}
    assert initial(options(True, startingTimestamp="2"), there) == {T0: 3, T1: 5}
    with pytest.raises(MissingTopicError):
        initial(options(True, subscribe="t,nothere"), there)
    assert initial(options(True, subscribePattern="zzz"), there) == {}


def test_a_trigger_goes_to_the_end_or_to_its_limit() -> None:
    there = world(t=[(0, 100), (0, 300)])
    start = {T0: 0, T1: 0}
    assert ends(there, start) == {T0: 100, T1: 300}
    assert ends(there, start, maxOffsetsPerTrigger="40") == {T0: 10, T1: 30}
    found = advance(options(True, maxBytesPerTrigger="1000"), there, start, now_ms=0, weights={T0: 1.0, T1: 3.0})
    assert found.end == {T0: 100, T1: 300}
    found = advance(options(True, maxBytesPerTrigger="100"), there, start, now_ms=0, weights={T0: 1.0, T1: 3.0})
    assert found.end == {T0: 10, T1: 30} and found.available == {T0: 100, T1: 300}


def test_both_limits_hold() -> None:
    there = world(t=[(0, 1000)])
    given = options(True, maxOffsetsPerTrigger="100", maxBytesPerTrigger="50")
    assert advance(given, there, {T0: 0}, now_ms=0, weights={T0: 1.0}).end == {T0: 50}
    assert advance(given, there, {T0: 0}, now_ms=0, weights={T0: 0.1}).end == {T0: 100}


def test_when_spark_asks_for_everything_limits_do_not_count() -> None:
    there = world(t=[(0, 100)])
    found = advance(options(True, maxOffsetsPerTrigger="1"), there, {T0: 0}, now_ms=0, everything=True)
    assert found.end == {T0: 100}


def test_a_trigger_waits_for_the_least_until_the_delay_is_over() -> None:
    given = options(True, minOffsetsPerTrigger="50", maxTriggerDelay="1m")
    there = world(t=[(0, 49)])
    first = advance(given, there, {T0: 0}, now_ms=1_000_000)
    assert first.end == {T0: 49} and first.pace == Pace(1_000_000)
    there.logs[T0] = (0, 98)
    waits = advance(given, there, {T0: 49}, now_ms=1_030_000, pace=first.pace)
    assert waits.end == {T0: 49} and waits.pace == first.pace and waits.available == {T0: 98}
    assert advance(given, there, {T0: 49}, now_ms=1_060_000, pace=first.pace).end == {T0: 98}
    there.logs[T0] = (0, 99)
    assert advance(given, there, {T0: 49}, now_ms=1_030_001, pace=first.pace).end == {T0: 99}


def test_available_now_reads_what_was_there_at_its_start_and_no_minimum_holds_it_back() -> None:
    given = options(True, minOffsetsPerTrigger="50", maxOffsetsPerTrigger="60")
    there = world(t=[(0, 100)])
    position, pace, pinned, read = {T0: 0}, Pace(), {T0: 100}, []
    for _ in range(5):
        there.logs[T0] = (0, there.logs[T0][1] + 1000)
        found = advance(given, there, position, now_ms=1_000_000, pace=pace, pinned=pinned)
        if found.end == position:
            break
        read.append(found.end[T0])
        position, pace = found.end, found.pace
    assert read == [60, 100]


def test_a_partition_that_appears_is_read_from_its_beginning() -> None:
    there = world(t=[(0, 10), (0, 30)])
    assert ends(there, {T0: 10}, maxOffsetsPerTrigger="15") == {T0: 10, T1: 15}
    assert told(plan_stream(options(True), there, {T0: 10}, {T0: 10, T1: 15})) == "t-1:0-15"


def test_topics_that_appear_match_a_pattern() -> None:
    there = world(t=[(0, 10)], t2=[(0, 3)])
    assert told(
        plan_stream(options(True, subscribePattern="t"), there, {T0: 0}, ends(there, {T0: 0}, subscribePattern="t"))
    ) == ("t-0:0-10 t2-0:0-3")


def lost(there: World, start: Offsets, end: Offsets) -> tuple[str, str, str]:
    """What is said when the query fails; and otherwise, what is read and what is warned of."""
    with pytest.raises(DataLossError) as raised:
        plan_stream(options(True), there, start, end)
    text = str(raised.value)
    assert text.count("\n") <= 2 and "failOnDataLoss=false" in text
    plan = plan_stream(options(True, failOnDataLoss="false"), there, start, end)
    return text, told(plan), plan.warnings[0]


def test_retention_that_was_faster() -> None:
    text, read, warned = lost(world(t=[(50, 100)]), {T0: 20}, {T0: 100})
    assert "t-0" in text and "20" in text and "begins at 50" in text and "retention.ms" in text
    assert read == "t-0:50-100" and "begins at 50" in warned
    assert lost(world(t=[(500, 600)]), {T0: 20}, {T0: 100})[1] == ""


def test_a_partition_that_is_gone() -> None:
    text, read, _ = lost(world(t=[(0, 5)]), {T0: 0, T1: 7}, {T0: 5})
    assert "t-1" in text and "does not exist" in text and "without it" in text
    assert read == "t-0:0-5"


def test_a_new_partition_whose_beginning_is_gone() -> None:
    text, read, _ = lost(world(t=[(0, 5), (3, 9)]), {T0: 5}, {T0: 5, T1: 9})
    assert "t-1" in text and "begins at offset 3 instead of 0" in text
    assert read == "t-1:3-9"


def test_a_topic_that_was_made_anew() -> None:
    text, read, warned = lost(world(t=[(0, 5), (0, 9)]), {T0: 100, T1: 0}, {T0: 5, T1: 9})
    assert "from offset 100, but ends at 5" in text and "made anew" in text and "at offset 5" in text
    assert read == "t-1:0-9" and "t-0" in warned


def test_several_losses_are_counted() -> None:
    text = lost(world(t=[(9, 10), (9, 10)]), {T0: 0, T1: 0}, {T0: 10, T1: 10})[0]
    assert "1 more" in text


def test_offsets_are_asked_again_when_they_look_wrong() -> None:
    there = world(t=[(0, 5)])
    pauses: list[int] = []

    def pause(ms: int) -> None:
        pauses.append(ms)
        there.logs[T0] = (0, 200)

    assert advance(options(True), there, {T0: 100}, now_ms=0, pause=pause).end == {T0: 200}
    assert pauses == [10]
    tired: list[int] = []
    there.logs[T0] = (0, 5)
    assert advance(options(True, fetchOffset__numRetries="4"), there, {T0: 100}, now_ms=0, pause=tired.append).end == {
        T0: 5
    }
    assert tired == [10, 10, 10]


def test_a_topic_that_is_deleted_is_a_loss_but_one_that_never_was_is_a_mistake() -> None:
    there = world(u=[(0, 5)])
    start = {TopicPartition("u", 0): 0, T0: 3}
    assert ends(there, start, subscribe="t,u") == {TopicPartition("u", 0): 5}
    with pytest.raises(MissingTopicError, match="'never'"):
        ends(there, start, subscribe="t,u,never")


def test_a_first_batch_from_the_latest_is_empty_so_that_its_beginning_is_in_the_checkpoint() -> None:
    given, there = options(True), world(t=[(0, 10)])
    start = initial(given, there)
    there.logs[T0] = (0, 15)
    found = advance(given, there, start, now_ms=0, first=True)
    assert found.end == {T0: 10}
    assert plan_stream(given, there, start, found.end, first=True).ranges == ()
    # it dies before the commit; asked again, the beginning is another one
    again = initial(given, there)
    assert again == {T0: 15}
    replayed = plan_stream(given, there, again, found.end, first=True)
    assert replayed.ranges == () and "goes on from there" in replayed.warnings[0]
    # and goes on from what the checkpoint holds: nothing was skipped
    assert told(plan_stream(given, there, found.end, advance(given, there, found.end, now_ms=0).end)) == "t-0:10-15"


def test_a_new_partition_in_what_is_called_a_first_batch_is_read() -> None:
    given, there = options(True), world(t=[(0, 10), (0, 5)])
    assert told(plan_stream(given, there, {T0: 10}, {T0: 10, T1: 5}, first=True)) == "t-1:0-5"


def test_a_query_from_the_latest_moves_after_its_first_batch() -> None:
    given, there = options(True), world(t=[(0, 10)])
    start, read = initial(given, there), []
    for batch in range(3):
        there.logs[T0] = (0, there.logs[T0][1] + 5)
        end = advance(given, there, start, now_ms=0, first=batch == 0).end
        read.append(told(plan_stream(given, there, start, end, first=batch == 0)))
        start = end
    assert read == ["", "t-0:10-20", "t-0:20-25"]


def test_a_first_batch_whose_beginning_stays_the_same_is_not_empty() -> None:
    given, there = options(True, startingOffsets="earliest"), world(t=[(0, 10)])
    assert advance(given, there, initial(given, there), now_ms=0, first=True).end == {T0: 10}


@pytest.mark.parametrize(
    ("more", "whether"),
    [
        ({}, True),
        ({"startingOffsets": "earliest"}, False),
        ({"startingOffsets": '{"t":{"0":5}}'}, False),
        ({"startingOffsets": '{"t":{"0":-1}}'}, True),
        ({"startingTimestamp": "5"}, False),
        ({"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "latest"}, True),
    ],
)
def test_which_beginnings_may_differ_when_asked_again(more: dict[str, str], whether: bool) -> None:
    assert may_differ_again(options(True, **more)) is whether


def test_the_same_batch_is_planned_the_same_way_again() -> None:
    given = options(True, minPartitions="4")
    there = world(t=[(0, 100), (0, 100)])
    plan = plan_stream(given, there, {T1: 0, T0: 0}, {T0: 100, T1: 50})
    there.logs[T0] = (0, 10**6)
    assert plan_stream(given, there, {T0: 0, T1: 0}, {T1: 50, T0: 100}) == plan


def tasks(there: World, **more: str) -> list[str]:
    """What each task of a batch reads, by its number."""
    plan = plan_stream(options(True, failOnDataLoss="false", **more), there, {T0: 0, T1: 0, T2: 0}, ENDS)
    return ["-" if one is None else f"{one.of}:{one.start}-{one.until}" for one in placed(plan.ranges, plan.empty)]


ENDS = {T0: 40, T1: 40, T2: 40}


@pytest.mark.parametrize(
    ("logs", "read"),
    [
        ([(0, 40), (0, 40), (0, 40)], "t-0:0-20 t-0:20-40 t-1:0-20 t-1:20-40 t-2:0-20 t-2:20-40"),
        ([(30, 40), (0, 40), (40, 90)], "- t-0:30-40 t-1:0-20 t-1:20-40 - -"),
        ([(20, 40), (5, 40), (0, 40)], "- t-0:20-40 t-1:5-20 t-1:20-40 t-2:0-20 t-2:20-40"),
        ([(0, 40), (0, 40)], "t-0:0-20 t-0:20-40 t-1:0-20 t-1:20-40 - -"),
    ],
)
def test_a_batch_that_is_replayed_after_a_loss_leaves_the_other_tasks_their_rows(
    logs: list[tuple[int, int]], read: str
) -> None:
    assert tasks(world(t=logs), maxRecordsPerPartition="20") == read.split(" ")


def test_a_fat_partition_is_cut_at_the_same_offsets_when_its_beginning_is_gone() -> None:
    start, end = {T0: 0}, {T0: 5 * PIECE_OFFSETS}
    before = plan_stream(options(True), world(t=[(0, 5 * PIECE_OFFSETS)]), start, end)
    there = world(t=[(PIECE_OFFSETS + 7, 5 * PIECE_OFFSETS)])
    after = plan_stream(options(True, failOnDataLoss="false"), there, start, end)
    assert after.empty == (0,) and after.ranges[1:] == before.ranges[2:]
    assert (after.ranges[0].start, after.ranges[0].until) == (PIECE_OFFSETS + 7, 2 * PIECE_OFFSETS)


def test_a_topic_that_is_deleted_before_its_batch_is_replayed_is_a_loss() -> None:
    text, read, _ = lost(world(u=[(0, 5)]), {T0: 0}, {T0: 9, TopicPartition("u", 0): 5})
    assert "t-0" in text and "does not exist any more" in text
    assert read == "u-0:0-5"


def test_a_task_goes_on_at_the_next_available_offset_or_fails_with_the_same_words() -> None:
    assert next_available(T0, 5, 9, 20, fail=False)[0] == 9
    assert next_available(T0, 25, 9, 20, fail=False)[0] == 20
    with pytest.raises(DataLossError, match="t-0 was to be read from offset 5, but begins at 9"):
        next_available(T0, 5, 9, 20, fail=True)


def test_an_empty_batch_has_no_ranges_and_asks_nothing() -> None:
    there = world(t=[(0, 10)])
    assert plan_stream(options(True), there, {T0: 10}, {T0: 10}).ranges == ()
    assert there.asked == []
