"""ListOffsets, DeleteRecords, OffsetForLeaderEpoch and DescribeLogDirs: where a partition's records are."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tapelog.wire.messages.delete_records_response import DeleteRecordsPartitionResult
from tapelog.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tapelog.wire.messages.fetch_request import FetchPartition
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tapelog.wire.messages.offset_for_leader_epoch_response import EpochEndOffset
from tests.support.rig import TOPIC, Rig, fetch_request, produce_request, wants
from tests.unit.server.replica_rig import OTHER, THIRD, Follower, LeaderRig, at

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=2)
    return rig


# -- ListOffsets


@pytest.mark.parametrize("version", range(1, 12))
def test_earliest_and_latest_in_every_version(rig: Rig, version: int) -> None:
    for value in (b"a", b"b", b"c"):
        rig.produce(rig.batch(value))
    rig.partition().log.increment_start_offset(1)
    assert rig.offset_at(LATEST, version=version).offset == 3
    found = rig.offset_at(EARLIEST, version=version)
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, -1, 0 if version >= 4 else -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_the_first_record_at_or_after_a_time(rig: Rig, version: int) -> None:
    now = rig.clock.wall_ms()
    for number, at_ms in enumerate((now - 500, now - 300, now - 100)):
        rig.produce(rig.batch(b"%d" % number, at_ms=at_ms))
    for at_ms, offset in ((0, 0), (now - 500, 0), (now - 499, 1), (now - 300, 1), (now - 100, 2), (now - 99, -1)):
        assert rig.offset_at(at_ms, version=version).offset == offset, at_ms - now
    assert rig.offset_at(now - 400, version=version).timestamp == now - 300


@pytest.mark.parametrize("version", range(1, 12))
@pytest.mark.parametrize(
    ("special", "since", "offset"),
    [
        (MAX_TIMESTAMP, 7, 1),
        (EARLIEST_LOCAL, 8, 0),
        (LATEST_TIERED, 9, -1),
        (EARLIEST_PENDING_UPLOAD, 11, -1),
        (-7, 99, -1),
        (-4711, 99, -1),
    ],
)
def test_specials_exist_since_their_version(rig: Rig, version: int, special: int, since: int, offset: int) -> None:
    now = rig.clock.wall_ms()
    for at_ms in (now - 500, now - 100, now - 300):
        rig.produce(rig.batch(b"x", at_ms=at_ms))
    found = rig.offset_at(special, version=version)
    if version < since:
        assert (found.error_code, found.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)
    else:
        assert (found.error_code, found.offset) == (0, offset)


def test_an_empty_partition_has_an_end_and_no_times(rig: Rig) -> None:
    assert rig.offset_at(LATEST).offset == 0
    assert rig.offset_at(EARLIEST).offset == 0
    assert rig.offset_at(0).offset == -1
    assert rig.offset_at(MAX_TIMESTAMP).offset == -1


def test_times_of_unflushed_records_are_not_told(rig: Rig) -> None:
    rig.hold_flushes()
    rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9, rig.connect())
    for special in (0, MAX_TIMESTAMP):
        assert rig.offset_at(special).offset == -1
    assert rig.offset_at(LATEST).offset == 0


def test_each_partition_is_answered_on_its_own(rig: Rig) -> None:
    parts = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 7, 1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=parts)])
    request.topics.append(ListOffsetsTopic(name="nothing", partitions=parts[:1]))
    answers = rig.client.call(request, 9).topics
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [part.error_code for part in answers[0].partitions] == [0, unknown, 0]
    assert [part.error_code for part in answers[1].partitions] == [unknown]


def test_list_offsets_checks_the_leader_epoch(rig: Rig) -> None:
    rig.partition().leader_epoch = 3
    assert rig.offset_at(LATEST, epoch=3).error_code == 0
    assert rig.offset_at(LATEST, epoch=2).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert rig.offset_at(LATEST, epoch=4).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


# -- DeleteRecords


def delete_to(rig: Rig, offset: int, *, topic: str = TOPIC, index: int = 0) -> DeleteRecordsPartitionResult:
    """DeleteRecords on one partition."""
    part = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[part])], timeout_ms=1000)
    result: DeleteRecordsPartitionResult = rig.client.call(request, 2).topics[0].partitions[0]
    return result


def test_deleted_records_are_gone_and_stay_gone(rig: Rig) -> None:
    for value in (b"a", b"b", b"c"):
        rig.produce(rig.batch(value))
    result = delete_to(rig, 2)
    assert (result.error_code, result.low_watermark) == (0, 2)
    for how in (rig.node.power_cut, rig.node.kill, rig.node.stop):
        rig.reboot(how)
        assert rig.offset_at(EARLIEST).offset == 2
        assert rig.fetch(1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert rig.values(offset=2) == [b"c"]


def test_minus_one_deletes_up_to_the_high_watermark(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    flushes = rig.hold_flushes()
    rig.later(produce_request((TOPIC, 0, rig.batch(b"c"))), 9, rig.connect())
    assert delete_to(rig, -1).low_watermark == 2
    flushes.release()
    assert rig.values(offset=2) == [b"c"]


@pytest.mark.parametrize("offset", [3, 100, -2])
def test_what_is_not_there_cannot_be_deleted(rig: Rig, offset: int) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    result = delete_to(rig, offset)
    assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert rig.offset_at(EARLIEST).offset == 0


def test_deleting_what_is_already_deleted_changes_nothing(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    delete_to(rig, 2)
    assert delete_to(rig, 1).low_watermark == 2


def test_a_compacted_topic_keeps_its_records(rig: Rig) -> None:
    rig.create("table", cleanup_policy="compact")
    rig.create("both", cleanup_policy="compact,delete")
    for topic in ("table", "both"):
        rig.produce(topic=topic)
    assert delete_to(rig, 1, topic="table").error_code == ErrorCode.POLICY_VIOLATION
    assert delete_to(rig, 1, topic="both").error_code == 0
    assert delete_to(rig, 1, topic="nothing").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_fetch_that_waits_below_the_new_start_is_told_at_once(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    answers = rig.later(fetch_request(wants(0, 0), min_bytes=10_000, max_wait_ms=60_000), 12, rig.connect())
    assert not answers
    delete_to(rig, 2)
    assert answers[0].responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def deletes_with_followers() -> tuple[LeaderRig, list[Follower]]:
    """Three records that everybody has."""
    rig = LeaderRig()
    rig.send(b"a", b"b", b"c")
    followers = [Follower(rig, OTHER), Follower(rig, THIRD)]
    for follower in followers:
        follower.one(0)
        follower.send(at(3))
    assert rig.partition().high_watermark == 3
    return rig, followers


def delete_later(rig: Rig, offset: int, timeout_ms: int = 1000) -> list[Any]:
    parts = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=parts)], timeout_ms=timeout_ms)
    return rig.later(request, 2, rig.connect())


def result_of(answers: list[Any]) -> tuple[int, int]:
    (answer,) = answers
    part = answer.topics[0].partitions[0]
    return part.error_code, part.low_watermark


def moved(offset: int, start: int) -> FetchPartition:
    part = at(offset)
    part.log_start_offset = start
    return part


def test_a_deletion_is_answered_when_the_followers_have_let_go() -> None:
    rig, followers = deletes_with_followers()
    answers = delete_later(rig, 2)
    rig.node.pass_time(50)
    assert rig.partition().log.start_offset == 2 and not answers
    followers[0].send(moved(3, 2))
    assert not answers
    followers[1].send(moved(3, 1), max_wait_ms=0)
    assert not answers
    followers[1].send(moved(3, 2))
    assert result_of(answers) == (0, 2)


def test_followers_that_take_too_long_make_it_a_timeout_and_later_ones_change_nothing() -> None:
    rig, followers = deletes_with_followers()
    answers = delete_later(rig, 3, timeout_ms=400)
    rig.node.pass_time(399)
    assert not answers
    rig.node.pass_time(1)
    assert result_of(answers) == (ErrorCode.REQUEST_TIMED_OUT, 3)
    for follower in followers:
        follower.send(moved(3, 3))
    assert len(answers) == 1
    assert result_of(delete_later(rig, 1)) == (0, 3), "who is that far already keeps nobody waiting"


def test_a_follower_that_is_gone_keeps_no_deletion_waiting() -> None:
    rig, followers = deletes_with_followers()
    answers = delete_later(rig, 2, timeout_ms=60_000)
    rig.node.pass_time(50)
    followers[0].send(moved(3, 2))
    del rig.hub.alive[THIRD]
    rig.partition().brokers_changed(rig.clock.monotonic_ms())
    rig.node.settle()
    assert result_of(answers) == (0, 2)


def test_whoever_loses_the_partition_says_so_to_those_who_delete() -> None:
    rig, _ = deletes_with_followers()
    answers = delete_later(rig, 2, timeout_ms=60_000)
    rig.partition().follow(OTHER, 2)
    rig.node.settle()
    assert result_of(answers) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


# -- OffsetForLeaderEpoch


def epoch_end(rig: Rig, epoch: int, *, current: int = -1, version: int = 4, index: int = 0) -> EpochEndOffset:
    """OffsetForLeaderEpoch for one partition."""
    part = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=[part])])
    if version < 3:
        request.replica_id = -1
    result: EpochEndOffset = rig.client.call(request, version).topics[0].partitions[0]
    return result


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_leader_epoch_ends_where_the_next_begins(rig: Rig, version: int) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    rig.partition().leader_epoch = 4
    rig.produce(rig.batch(b"c"))
    for asked, expected in ((0, (0, 2)), (2, (0, 2)), (4, (4, 3))):
        found = epoch_end(rig, asked, version=version)
        assert (found.error_code, found.leader_epoch, found.end_offset) == (0, *expected)
    found = epoch_end(rig, 9, version=version)
    assert (found.leader_epoch, found.end_offset) == (-1, -1)


def test_offset_for_leader_epoch_checks_the_current_one(rig: Rig) -> None:
    rig.partition().leader_epoch = 4
    assert epoch_end(rig, 0, current=3).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert epoch_end(rig, 0, current=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert epoch_end(rig, 0, index=8).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- DescribeLogDirs


@pytest.mark.parametrize("version", range(1, 6))
def test_the_log_directory_tells_sizes_and_room(rig: Rig, version: int) -> None:
    batch = rig.batch(b"x" * 500)
    rig.produce(batch, index=1)
    rig.create("other")
    result = rig.client.call(DescribeLogDirsRequest(topics=None), version).results[0]
    sizes = {
        (topic.name, part.partition_index): part.partition_size for topic in result.topics for part in topic.partitions
    }
    assert sizes == {(TOPIC, 0): 0, (TOPIC, 1): len(batch), ("other", 0): 0}
    if version >= 4:
        assert 0 < result.usable_bytes < result.total_bytes
    assert result.is_cordoned is False


def test_the_log_directory_tells_only_what_was_asked_for(rig: Rig) -> None:
    rig.create("other")
    topics = [DescribableLogDirTopic(topic=TOPIC, partitions=[1, 9]), DescribableLogDirTopic(topic="nothing")]
    result = rig.client.call(DescribeLogDirsRequest(topics=topics), 4).results[0]
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in result.topics] == [(TOPIC, [1])]


def test_the_log_directory_tells_how_busy_a_partition_is(rig: Rig) -> None:
    batch = rig.batch(*[b"x" * 100] * 5)
    for _ in range(10):
        rig.produce(batch, index=1)
        rig.node.pass_time(1000)
    rig.fetch(index=1)
    told = rig.client.call(DescribeLogDirsRequest(topics=None), 5)
    assert told.counted_ms == rig.clock.monotonic_ms()
    idle, busy = (part.traffic for part in told.results[0].topics[0].partitions)
    assert idle is None
    assert (busy.bytes_in, busy.records_in, busy.requests) == (10 * len(batch), 50, 11)
    assert busy.bytes_out == 10 * len(batch) and busy.replica_bytes_out == 0
    assert [rate.span_seconds for rate in busy.rates] == [60, 300]
    assert all(rate.records_in == pytest.approx(5, rel=0.1) for rate in busy.rates)
    assert rig.client.call(DescribeLogDirsRequest(topics=None), 1).counted_ms == -1, "without tagged fields: nothing"


@pytest.mark.parametrize(("names", "cordoned"), [("*", True), ("/elsewhere", False)])
def test_the_log_directory_tells_whether_it_gets_new_replicas(names: str, cordoned: bool) -> None:
    rig = Rig(cordoned_log_dirs=names)
    assert rig.client.call(DescribeLogDirsRequest(topics=None), 5).results[0].is_cordoned is cordoned
