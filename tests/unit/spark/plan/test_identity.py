"""Topics that are deleted and made anew under a stream: what the driver knows, what it reads, and when it stops."""

from __future__ import annotations

import pickle

import pytest

from tapelog.spark.plan.errors import DataLossError
from tapelog.spark.plan.identity import Identities
from tapelog.spark.plan.rate import Pace
from tapelog.spark.plan.stream import Step, advance, plan_stream
from tapelog.spark.plan.values import Offsets, Range, TopicPartition, placed
from tests.unit.spark.plan.world import World, options, told, world

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
OTHER = TopicPartition("u", 0)
T = frozenset({"t"})
NONE: frozenset[str] = frozenset()
GOES_ON = {"failOnDataLoss": "false"}
OLD, NEW = b"o" * 16, b"n" * 16


def step(there: World, start: Offsets, changed: frozenset[str] = NONE, **more: str) -> Step:
    pinned = {of: there.logs[of][1] for of in start} if more.pop("pinned", "") else None
    return advance(options(True, **more), there, start, now_ms=0, pace=Pace(), changed=changed, pinned=pinned)


def uncut(there: World) -> World:
    """All its partitions have had one leader."""
    there.uncut = set(there.logs)
    return there


def test_an_id_that_changes_is_noticed_and_one_that_was_replaced_never_comes_back() -> None:
    known = Identities()
    assert known.unknown(["t", "u"]) == {"t", "u"}
    known.learn({"t": OLD})
    assert known.unknown(["t", "u"]) == {"u"} and known.changed({"t": OLD, "u": NEW}) == NONE
    assert known.changed({"t": NEW}) == T
    known.learn({"t": NEW})
    assert known.changed({"t": NEW}) == T, "what is known stays until it is replaced"
    known.replace({"t": NEW}, T)
    assert known.changed({"t": NEW}) == NONE
    assert known.changed({"t": OLD}) == NONE, "a broker whose metadata is old still tells it"
    assert [piece.topic_id for piece in known.stamp([Range("t", 0, 0, 5), Range("u", 0, 0, 5)])] == [NEW, b""]
    known.distrust(T)
    assert known.changed({"t": NEW}) == NONE, "not in the very same topic"


def test_offsets_that_are_not_the_topics_own_are_remembered() -> None:
    known = Identities()
    known.distrust(T)
    assert known.changed({"t": NEW}) == T
    known.replace({"t": NEW}, T)
    assert known.changed({"t": NEW}) == NONE


def test_a_range_from_an_older_version_is_read_without_an_id() -> None:
    piece = Range("t", 3, 5, 9, topic_id=NEW)
    back: Range = pickle.loads(pickle.dumps(piece))
    assert back == piece and back.topic_id == NEW
    older = Range.__new__(Range)
    older.__setstate__(["t", 3, 5, 9, None])
    assert older == piece and older.topic_id == b""


@pytest.mark.parametrize("records", [30, 50, 500])
def test_a_topic_with_another_id_stops_the_query_or_is_read_from_its_start(records: int) -> None:
    there = world(t=[(0, records), (0, records)], u=[(0, 90)])
    given = {"subscribe": "t,u"}
    start = {T0: 50, T1: 0, OTHER: 20}
    found = step(there, start, T, **given)
    was_read = ": t-0 was to be read from offset 50"
    with pytest.raises(DataLossError, match="topic t was deleted and made anew" + was_read):
        plan_stream(options(True, **given), there, start, found.end, begun_anew=found.anew)
    there.logs[T0] = (0, 900)  # the end is in the checkpoint: the next run meets it, whatever is in the topic by then
    with pytest.raises(
        DataLossError, match="topic t was deleted and made anew, or its log lost all its" + ".*" + was_read
    ):
        plan_stream(options(True, **given), there, start, found.end)
    there.logs[T0] = (0, records)
    found = step(there, start, T, **given, **GOES_ON)
    assert found.end == {T0: 0, T1: 0, OTHER: 20} and found.anew == T
    assert found.available == {T0: records, T1: records, OTHER: 90}
    plan = plan_stream(options(True, **given, **GOES_ON), there, start, found.end, begun_anew=found.anew)
    assert told(plan) == "" and len(plan.warnings) == 1 and "reads the new topic from its start" in plan.warnings[0]
    after = step(there, found.end, **given, **GOES_ON).end
    again = plan_stream(options(True, **given, **GOES_ON), there, found.end, after)
    assert told(again) == f"t-0:0-{records} t-1:0-{records} u-0:20-90" and not again.warnings


def test_a_topic_of_which_nothing_was_read_may_be_made_anew() -> None:
    there = world(t=[(0, 30)])
    found = step(there, {T0: 0}, T)
    assert found.end == {T0: 30} and found.anew == T


def test_fewer_partitions_and_more() -> None:
    fewer = world(t=[(0, 30)])
    assert step(fewer, {T0: 50, T1: 50}, T).end == {T0: 0}
    with pytest.raises(DataLossError, match="topic t was deleted and made anew"):
        plan_stream(options(True), fewer, {T0: 50, T1: 50}, {T0: 0})
    there = world(t=[(0, 30), (0, 30), (7, 30)])
    assert step(there, {T0: 50, T1: 50}, T, **GOES_ON).end == {T0: 0, T1: 0, T2: 7}


def test_an_end_that_went_back_under_the_first_leader_proves_it_for_the_whole_topic() -> None:
    there = uncut(world(t=[(0, 30), (0, 80)]))
    start = {T0: 50, T1: 50}
    found = step(there, start)
    assert found.end == {T0: 0, T1: 0} and found.anew == T
    with pytest.raises(DataLossError, match="topic t was deleted and made anew"):
        plan_stream(options(True), there, start, found.end)


def test_under_a_later_leader_the_log_may_have_been_cut_back_and_nothing_is_read_twice() -> None:
    there = world(t=[(0, 30), (0, 80)])
    found = step(there, {T0: 50, T1: 50}, **GOES_ON)
    assert found.end == {T0: 30, T1: 80} and found.anew == NONE
    plan = plan_stream(options(True, **GOES_ON), there, {T0: 50, T1: 50}, found.end)
    assert told(plan) == "t-1:50-80" and "or its log was cut back" in plan.warnings[0]


@pytest.mark.parametrize("begins", [0, 40])
def test_a_log_that_has_lost_all_its_records_is_not_said_to_be_another_topic(begins: int) -> None:
    there = world(t=[(begins, begins)])
    found = step(there, {T0: 50}, **GOES_ON)
    assert found.end == {T0: begins} and found.anew == NONE
    both = "topic t was deleted and made anew, or its log lost all its records"
    with pytest.raises(DataLossError, match=both):
        plan_stream(options(True), there, {T0: 50}, found.end)
    plan = plan_stream(options(True, **GOES_ON), there, {T0: 50}, found.end)
    assert both in plan.warnings[0] and "goes on where the log begins" in plan.warnings[0]


def test_an_open_transaction_is_no_proof() -> None:
    there = uncut(world(t=[(0, 100)]))
    there.stable = {T0: 30}
    assert step(there, {T0: 50}, **GOES_ON, kafka__isolation__level="read_committed").anew == NONE


def test_available_now_reads_what_the_new_topic_has() -> None:
    there = world(t=[(0, 30)])
    pinned = {T0: 400, T1: 400}  # of the old topic
    found = advance(options(True, **GOES_ON), there, {T0: 50}, now_ms=0, pinned=pinned, changed=T)
    assert found.end == {T0: 0} and found.available == {T0: 30}


def test_a_topic_made_anew_between_two_questions_of_a_batch_is_not_read_by_the_old_ones_offsets() -> None:
    there = world(t=[(0, 900)], u=[(0, 90)])
    given = {"subscribe": "t,u"}
    start, end = {T0: 50, OTHER: 20}, {T0: 500, OTHER: 90}
    with pytest.raises(DataLossError, match="topic t was deleted and made anew"):
        plan_stream(options(True, **given), there, start, end, changed=T)
    plan = plan_stream(options(True, **given, **GOES_ON), there, start, end, changed=T)
    assert told(plan) == "u-0:20-90" and plan.anew == T
    assert [None if one is None else one.topic for one in placed(plan.ranges, plan.empty)] == [None, "u"]


def test_a_batch_of_an_earlier_run_is_not_waited_for_where_the_topic_is_shorter_now() -> None:
    start, end = {T0: 50}, {T0: 500}
    anew = uncut(world(t=[(0, 90)]))
    with pytest.raises(DataLossError, match="topic t was deleted and made anew"):
        plan_stream(options(True), anew, start, end, unknown=T)
    plan = plan_stream(options(True, **GOES_ON), anew, start, end, unknown=T)
    assert told(plan) == "" and plan.anew == T
    cut = world(t=[(0, 90)])
    with pytest.raises(DataLossError, match="up to offset 500, but ends at 90") as error:
        plan_stream(options(True), cut, start, end, unknown=T)
    assert "endingOffsets" not in str(error.value), "no option is to blame"
    plan = plan_stream(options(True, **GOES_ON), cut, start, end, unknown=T)
    assert told(plan) == "t-0:50-90" and plan.anew == NONE


def test_a_batch_of_this_run_is_planned_without_asking_for_ends() -> None:
    there = world(t=[(0, 500)])
    plan_stream(options(True), there, {T0: 50}, {T0: 500})
    assert there.asked == ["earliest"]
