"""A batch read that is repeated has the same tasks, whatever happened to filters, logs and brokers in between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tapelog.spark.plan.batch import plan_batch
from tapelog.spark.plan.errors import DataLossError, OptionError
from tapelog.spark.plan.filters import Filter
from tapelog.spark.plan.split import PIECE_OFFSETS
from tapelog.spark.plan.values import Plan, TopicPartition, placed
from tests.unit.spark.plan.world import World, options, world

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
GIVEN = {"startingOffsets": '{"t":{"0":0,"1":10}}', "endingOffsets": '{"t":{"0":40,"1":50}}'}
THERE = [(0, 90), (5, 60)]


def planned(there: World, filters: Sequence[Filter] = (), **more: str) -> Plan:
    given = {"repeatable": "true", "failOnDataLoss": "false", "maxRecordsPerPartition": "20"} | GIVEN | more
    return plan_batch(options(**given), there, filters=filters)


def tasks(there: World, filters: Sequence[Filter] = (), **more: str) -> str:
    """What each task reads, by its number; - reads nothing."""
    plan = planned(there, filters, **more)
    return " ".join(
        "-" if one is None else f"{one.partition}:{one.start}-{one.until}" for one in placed(plan.ranges, plan.empty)
    )


def test_it_is_cut_by_the_offsets_that_were_asked_for() -> None:
    assert tasks(world(t=THERE)) == "0:0-20 0:20-40 1:10-30 1:30-50"


@pytest.mark.parametrize(
    ("logs", "read"),
    [
        ([(25, 90), (5, 60)], "- 0:25-40 1:10-30 1:30-50"),
        ([(40, 90), (31, 60)], "- - - 1:31-50"),
        ([(70, 90), (70, 90)], "- - - -"),
    ],
)
def test_what_is_gone_leaves_the_other_tasks_their_numbers_and_rows(logs: list[tuple[int, int]], read: str) -> None:
    assert tasks(world(t=logs)) == read
    assert "begins at" in planned(world(t=logs)).warnings[0]
    with pytest.raises(DataLossError):
        planned(world(t=logs), failOnDataLoss="true")


@pytest.mark.parametrize(
    ("filters", "read"),
    [
        ([Filter("partition", "=", 1)], "- - 1:10-30 1:30-50"),
        ([Filter("offset", ">=", 25)], "- 0:25-40 1:25-30 1:30-50"),
        ([Filter("offset", "<", 25)], "0:0-20 0:20-25 1:10-25 -"),
        ([Filter("timestamp", ">", 0)], "- 0:30-40 - -"),
    ],
)
def test_filters_move_no_cut(filters: list[Filter], read: str) -> None:
    there = world(t=THERE)
    there.timestamps = {T0: [0] * 30 + [7] * 60}
    assert tasks(there, filters) == read


def test_an_upper_bound_of_time_which_narrows_nothing_leaves_them_as_they_are_while_more_is_written() -> None:
    filters = [Filter("timestamp", "<", 10**15)]
    assert planned(world(t=THERE), filters) == planned(world(t=[(0, 10**6), (5, 10**6)]), filters)


def test_unless_told_otherwise_a_task_reads_as_many_offsets_as_a_piece_has() -> None:
    given = {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": f'{{"t":{{"0":{7 + 5 * PIECE_OFFSETS}}}}}'}
    there = world(t=[(0, 9 * PIECE_OFFSETS)])
    plan = plan_batch(options(repeatable="true", **given), there)
    assert [one.size for one in plan.ranges] == [PIECE_OFFSETS] * 5
    there.logs[T0] = (PIECE_OFFSETS, 10 * PIECE_OFFSETS)
    again = plan_batch(options(repeatable="true", failOnDataLoss="false", **given), there)
    assert again.empty == () and again.ranges[1:] == plan.ranges[1:]


OFFSETS = '{"t":{"0":5,"1":5}}'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "startingOffsets is earliest and endingOffsets is latest"),
        ({"endingOffsets": OFFSETS}, "startingOffsets is earliest"),
        ({"startingOffsets": OFFSETS}, "endingOffsets is latest"),
        ({"startingOffsets": '{"t":{"0":5,"1":-2}}', "endingOffsets": OFFSETS}, "-2 (earliest) for t-1"),
        ({"startingOffsets": OFFSETS, "endingOffsets": '{"t":{"0":-1,"1":9}}'}, "-1 (latest) for t-0"),
    ],
)
def test_what_moves_by_itself_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError) as raised:
        options(repeatable="true", **given)
    text = str(raised.value)
    assert said in text and "repeatable" in text and "offsets by partition" in text and text.count("\n") <= 2
    assert not options(repeatable="false", **given).repeatable


def timed(*logs: tuple[int, int]) -> World:
    """Record n of each partition has timestamp 10 n."""
    there = world(t=logs)
    there.timestamps = {TopicPartition("t", n): range(10 * log[0], 10 * log[1], 10) for n, log in enumerate(logs)}
    return there


TIMES = {"startingOffsets": "", "endingOffsets": "", "startingTimestamp": "105", "endingTimestamp": "400"}


def test_times_are_the_offsets_that_they_mean() -> None:
    assert tasks(timed((0, 90), (5, 60)), **TIMES) == "0:11-25 0:25-40 1:11-25 1:25-40"
    assert tasks(timed((0, 99), (7, 99)), **TIMES) == "0:11-25 0:25-40 1:11-25 1:25-40"


@pytest.mark.parametrize("log", [(12, 60), (40, 60), (50, 60)])
def test_a_time_whose_first_record_may_be_gone_is_refused(log: tuple[int, int]) -> None:
    with pytest.raises(OptionError, match=r"t-1 .*repeatable") as raised:
        tasks(timed((0, 90), log), **TIMES)
    assert str(raised.value).count("\n") <= 2


@pytest.mark.parametrize("log", [(0, 40), (0, 11), (0, 0)])
def test_a_time_that_is_still_to_come_is_refused(log: tuple[int, int]) -> None:
    with pytest.raises(OptionError, match=r"t-1 .*repeatable"):
        tasks(timed((0, 90), log), startingOffsetsByTimestampStrategy="latest", **TIMES)


def test_an_end_that_is_not_written_yet_is_refused_also_where_losses_are_passed_over() -> None:
    with pytest.raises(OptionError, match=r"t-1 .* up to offset 50, but ends at 45.*repeatable"):
        tasks(world(t=[(0, 90), (5, 45)]))


def test_a_stream_is_repeatable_whatever_it_is_told() -> None:
    found = options(True, repeatable="true")
    assert not found.repeatable and "repeatable is ignored" in found.warnings[0]
