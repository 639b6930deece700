"""Disks that fail or are full: what is answered, what is never acknowledged, when the node stops."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.rig import TOPIC, Rig, fetch_request, produce_request, wants


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=2)
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    return rig


def commit_request(offset: int) -> OffsetCommitRequest:
    """A group's position."""
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="")
    request.topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
    return request


# -- a flush that fails


def test_a_failed_flush_is_a_storage_error_and_stops_the_node(rig: Rig) -> None:
    rig.produce(rig.batch(b"safe"))
    flushes = rig.hold_flushes()
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(b"lost"))), 9)
    parked = rig.later(fetch_request(wants(1, 0), max_wait_ms=60_000), 12, rig.connect())
    flushes.fail(DiskError("the disk says no"))
    assert answers[0].responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert parked[0].responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert isinstance(rig.node.failure, DiskError), "the node is told to halt"
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.produce(index=1).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.fetch().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (
        rig.client.call(DescribeLogDirsRequest(topics=None), 4).results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    )
    rig.reboot(rig.node.power_cut)
    assert rig.values()[0] == b"safe"


def test_after_a_failed_flush_no_later_flush_acknowledges_anything(rig: Rig) -> None:
    """Linux reports a failed write-back once; the next fsync of the same file succeeds over lost pages."""
    flushes = rig.hold_flushes()
    record = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9, rig.connect())
    later = rig.later(produce_request((TOPIC, 0, rig.batch(b"b"))), 9, rig.connect())
    offset = rig.later(commit_request(7), 8, rig.connect())
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    created = rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, rig.connect())
    id = rig.later(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4, rig.connect())
    flushes.fail(DiskError("once"))
    rig.node.pass_time(5_000)
    for answers in (record, later):
        for answer in answers:
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert record
    assert later
    assert not offset or offset[0].topics[0].partitions[0].error_code != 0
    assert not created or created[0].topics[0].error_code != 0
    assert not id or id[0].error_code != 0
    assert rig.partition().high_watermark == 0


def test_a_failed_flush_leaves_no_clean_shutdown_behind(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9)
    flushes.fail(DiskError("no"))
    rig.node.stop()
    assert not rig.node.disk.exists("logs/.kafka_cleanshutdown")


@pytest.mark.parametrize("syncs", range(4))
def test_a_sync_that_fails_while_topics_come_and_go_stops_the_node(rig: Rig, syncs: int) -> None:
    rig.node.disk.syncs_until_failure = syncs
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, rig.connect())
    rig.node.pass_time(100)
    rig.later(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 5, rig.connect())
    rig.node.pass_time(20_000)
    assert rig.node.failure is not None
    rig.reboot(rig.node.power_cut)
    rig.client.call(FindCoordinatorRequest(key="g"), 3)


# -- a full disk


def fill(rig: Rig, room: int = 0) -> None:
    """Leave this much room."""
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + room


def test_a_full_disk_refuses_records_and_takes_them_again_when_there_is_room(rig: Rig) -> None:
    assert rig.produce(rig.batch(b"a", producer=(7, 0, 0))).error_code == 0
    fill(rig)
    for _ in range(3):
        assert rig.produce(rig.batch(b"b", producer=(7, 0, 1))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.values() == [b"a"], "reading goes on"
    assert rig.node.failure is None
    rig.node.disk.capacity_bytes = None
    answer = rig.produce(rig.batch(b"b", producer=(7, 0, 1)))
    assert (answer.error_code, answer.base_offset) == (0, 1)
    rig.reboot(rig.node.power_cut)
    assert rig.values() == [b"a", b"b"]


def test_what_did_not_fit_fails_and_what_came_before_it_is_acknowledged(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    first = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9, rig.connect())
    fill(rig)
    second = rig.later(produce_request((TOPIC, 0, rig.batch(b"b"))), 9, rig.connect())
    assert second[0].responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not first
    flushes.release()
    assert first[0].responses[0].partition_responses[0].error_code == 0
    assert rig.values() == [b"a"]


def test_offsets_are_committed_again_when_there_is_room(rig: Rig) -> None:
    fill(rig)
    assert rig.client.call(commit_request(5), 8).topics[0].partitions[0].error_code != 0
    rig.node.disk.capacity_bytes = None
    assert rig.client.call(commit_request(6), 8).topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("version", [2, 7])
def test_changes_that_find_no_room_are_answered_topic_by_topic(rig: Rig, version: int) -> None:
    fill(rig, 0)
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("one", "two")]
    created = rig.client.call(CreateTopicsRequest(topics=topics, timeout_ms=1000), version).topics
    assert [(topic.name, topic.error_code) for topic in created] == [
        ("one", ErrorCode.KAFKA_STORAGE_ERROR),
        ("two", ErrorCode.KAFKA_STORAGE_ERROR),
    ]
    deleted = rig.client.call(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 4).responses
    assert [(topic.name, topic.error_code) for topic in deleted] == [(TOPIC, ErrorCode.KAFKA_STORAGE_ERROR)]
    assert rig.fetch(0).error_code == 0


def test_topics_are_created_again_when_there_is_room(rig: Rig) -> None:
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    client = rig.connect()
    fill(rig)
    refused = rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, client)
    rig.node.pass_time(100)
    assert refused[0].topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    rig.node.disk.capacity_bytes = None
    rig.create("new")
    assert rig.produce(topic="new").error_code == 0


@pytest.mark.parametrize("room", [150, 300, 500])
def test_a_topic_whose_logs_find_no_room_gets_them_later(rig: Rig, room: int) -> None:
    fill(rig, room)
    topic = CreatableTopic(name="new", num_partitions=5, replication_factor=1)
    rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, rig.connect())
    rig.node.pass_time(1000)
    assert rig.node.failure is None
    rig.node.disk.capacity_bytes = None
    rig.node.pass_time(1000)
    assert rig.node.core is not None
    if "new" in rig.node.core.topics:
        assert [rig.produce(topic="new", index=index).base_offset for index in range(5)] == [0] * 5
    rig.reboot(rig.node.power_cut)
    rig.node.invariants()


def test_a_full_disk_during_checkpoints_and_a_stop_loses_nothing(rig: Rig) -> None:
    for number in range(20):
        rig.produce(rig.batch(b"%d" % number))
    fill(rig)
    rig.node.pass_time(30_000)
    assert rig.node.failure is None
    try:
        rig.node.stop()
    except DiskError:
        rig.node.kill()
    rig.node.disk.capacity_bytes = None
    rig.node.boot()
    rig.client = rig.connect()
    assert rig.values() == [b"%d" % number for number in range(20)]
