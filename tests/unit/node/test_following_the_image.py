"""Partitions follow the metadata: topics that come, go and come again, directories that are missing or left over."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.support.rig import TOPIC, Rig, produce_request


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=2)
    return rig


def directories(rig: Rig) -> list[str]:
    """What lies in the log directory, metadata aside."""
    disk = rig.node.disk
    found = [name for name in disk.listdir("logs") if disk.listdir(f"logs/{name}")]
    return [name for name in found if not name.startswith("__cluster")]


def commit(rig: Rig, offset: int) -> int:
    """A group's position in the topic; the error code."""
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="")
    request.topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
    return int(rig.client.call(request, 8).topics[0].partitions[0].error_code)


def committed(rig: Rig) -> int:
    """Where the group stands; -1 if nowhere."""
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])])
    for _ in range(100):
        response = rig.client.call(request, 5)
        if response.error_code == 0:
            return int(response.topics[0].partitions[0].committed_offset)
        rig.node.pass_time(5)
    raise AssertionError("the coordinator never finished loading")


def test_a_recreated_topic_is_another_one(rig: Rig) -> None:
    old = rig.topic_id()
    rig.produce(rig.batch(b"old"))
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    assert commit(rig, 1) == 0
    rig.delete()
    assert rig.produce().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    rig.create(partitions=2)
    assert rig.topic_id() != old
    assert rig.values() == []
    answer = rig.client.call(produce_request((old, 0, rig.batch())), 13).responses[0]
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert rig.fetch(version=13, topic="", topic_id=old).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert committed(rig) == -1, "the group's position went with the topic"
    rig.produce(rig.batch(b"new"))
    rig.reboot(rig.node.power_cut)
    assert rig.values() == [b"new"]
    assert committed(rig) == -1


def test_a_topic_is_deleted_by_id(rig: Rig) -> None:
    topics = [DeleteTopicState(name=None, topic_id=rig.topic_id()), DeleteTopicState(name=None, topic_id=b"\1" * 16)]
    codes = [
        one.error_code for one in rig.client.call(DeleteTopicsRequest(topics=topics, timeout_ms=1000), 6).responses
    ]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_ID]
    assert rig.produce().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_a_deleted_topic_stays_deleted_and_its_files_go(rig: Rig, how: str) -> None:
    rig.produce()
    rig.delete()
    rig.reboot(getattr(rig.node, how))
    rig.node.pass_time(1000)
    assert rig.node.core is not None
    assert TOPIC not in rig.node.core.topics
    assert directories(rig) == []


def test_a_new_topic_is_there_after_a_power_cut_at_any_moment_after_the_answer() -> None:
    for seed in range(30):
        rig = Rig(seed)
        rig.create(partitions=3)
        rig.reboot(rig.node.power_cut)
        assert [rig.produce(index=index).base_offset for index in range(3)] == [0, 0, 0]


def test_directories_that_were_not_created_before_the_crash_are_created_at_the_start() -> None:
    for seed in range(30):
        rig = Rig(seed)
        topic = CreatableTopic(name=TOPIC, num_partitions=3, replication_factor=1)
        assert rig.node.core is not None
        created: list[object] = []
        rig.node.core.partitions.create = created.append  # type: ignore[method-assign]
        rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
        rig.node.pass_time(50)
        assert created, "committed, and no directory made"
        assert directories(rig) == []
        rig.reboot(rig.node.power_cut)
        assert [rig.produce(index=index).base_offset for index in range(3)] == [0, 0, 0]


def test_directories_nobody_claims_are_removed_at_the_start(rig: Rig) -> None:
    rig.produce()
    rig.node.stop()
    disk = rig.node.disk
    for name in ("stray-0", f"{TOPIC}-9"):
        disk.mkdir(f"logs/{name}")
        disk.write_file(f"logs/{name}/00000000000000000000.log", b"")
    rig.node.boot()
    rig.node.pass_time(1000)
    assert directories(rig) == [f"{TOPIC}-0", f"{TOPIC}-1"]


def test_a_directory_of_a_namesake_with_another_id_is_replaced(rig: Rig) -> None:
    rig.produce(rig.batch(b"of the old topic"))
    rig.node.stop()
    disk = rig.node.disk
    old = disk.read_file(f"logs/{TOPIC}-0/partition.metadata")
    rig.node.boot()
    rig.client = rig.connect()
    rig.delete()
    rig.create(partitions=2)
    rig.node.stop()
    rig.node.disk.write_file(f"logs/{TOPIC}-0/partition.metadata", old)
    rig.node.boot()
    rig.client = rig.connect()
    assert rig.values() == []
    assert rig.produce().base_offset == 0


def test_more_partitions_appear_and_old_ones_keep_their_records(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    before = rig.partition()
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=TOPIC, count=5, assignments=None)])
    assert rig.client.call(request, 3).results[0].error_code == 0
    assert rig.partition() is before
    assert rig.produce(index=4).base_offset == 0
    assert rig.values() == [b"a"]
    rig.reboot(rig.node.power_cut)
    assert rig.values() == [b"a"]
    assert rig.produce(index=4).base_offset == 1


def test_a_changed_config_reaches_the_log(rig: Rig) -> None:
    def alter(name: str, value: str) -> int:
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[config])
        response = rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        return int(response.responses[0].error_code)

    large = rig.batch(b"x" * 3000)
    assert alter("max.message.bytes", "1000") == 0
    assert rig.produce(large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert alter("max.message.bytes", "10000") == 0
    assert rig.produce(large).error_code == 0


def test_switching_a_topic_to_page_cache_answers_what_waits_for_the_flush(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9)
    assert not answers
    partition = rig.partition()
    partition.log.config.page_cache = True
    partition.use_config()
    rig.node.settle()
    assert len(answers) == 1
    flushes.release()
    assert rig.values() == [b"a"]


def test_the_metadata_is_the_same_after_a_restart(rig: Rig) -> None:
    rig.create("b", retention_ms="1000")
    rig.create("c")
    rig.delete("c")
    request = MetadataRequest(topics=None)
    before = rig.client.call(request, 12)
    for how in (rig.node.stop, rig.node.power_cut, rig.node.kill):
        rig.reboot(how)
        after = rig.client.call(request, 12)
        assert [(t.name, t.topic_id, len(t.partitions)) for t in after.topics] == [
            (t.name, t.topic_id, len(t.partitions)) for t in before.topics
        ]
        assert (after.cluster_id, after.brokers) == (before.cluster_id, before.brokers)
    assert rig.partition("b").log.config.retention_ms == 1000


def test_topics_created_and_deleted_in_one_wake_up_leave_nothing_behind(rig: Rig) -> None:
    for number in range(5):
        topic = CreatableTopic(name=f"t{number}", num_partitions=1, replication_factor=1)
        rig.later(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, rig.connect())
        rig.later(DeleteTopicsRequest(topic_names=[f"t{number}"], timeout_ms=1000), 5, rig.connect())
    rig.node.pass_time(1000)
    assert directories(rig) == [f"{TOPIC}-0", f"{TOPIC}-1"]
    rig.reboot(rig.node.power_cut)
    assert directories(rig) == [f"{TOPIC}-0", f"{TOPIC}-1"]
