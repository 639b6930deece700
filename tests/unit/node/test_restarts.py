"""What a node finds after going down at an awkward moment: names not durable yet, checkpoints of logs that are gone."""

from __future__ import annotations

import pytest

from tapelog.sim.client import SimClient
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.node import SimNode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.record_batch import Record, build_batch

TOPIC = "orders"


class House:
    """A node with one client."""

    def __init__(self, seed: int) -> None:
        self.clock = SimClock()
        self.node = SimNode(SimEntropy(seed), self.clock)
        self.start()

    def start(self) -> None:
        self.node.boot()
        self.client = SimClient(self.node)

    def create(self) -> int:
        request = CreateTopicsRequest(topics=[CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)])
        return int(self.client.call(request, 4).topics[0].error_code)

    def produce(self, count: int) -> None:
        for number in range(count):
            batch = build_batch([Record(0, self.clock.wall_ms(), None, b"%d" % number)])
            data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])]
            answer = self.client.call(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=data), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0

    def offsets(self) -> tuple[int, int]:
        assert self.node.core is not None
        partition = self.node.core.topics[TOPIC].partitions[0]
        assert partition is not None
        return partition.log.start_offset, partition.log.end_offset


class PowerGone(BaseException):
    """The test's way to stop a node in the middle of something."""


def test_a_topic_created_anew_does_not_inherit_the_start_offset_of_its_namesake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House(1)
    assert house.create() == 0
    house.produce(10)
    wanted = DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=8)])
    assert (
        house.client.call(DeleteRecordsRequest(topics=[wanted], timeout_ms=1000), 2).topics[0].partitions[0].error_code
        == 0
    )

    def cut(*_: object) -> None:
        raise PowerGone

    # down between moving the deleted log aside and writing the checkpoint files
    monkeypatch.setattr(SimDisk, "replace_file", cut)
    with pytest.raises(PowerGone):
        house.client.call(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 5)
    monkeypatch.undo()
    house.node.kill()
    house.start()
    assert house.create() == 0
    assert house.offsets() == (0, 0)
    house.produce(3)
    house.node.power_cut()
    house.start()
    assert house.offsets() == (0, 3)


@pytest.mark.parametrize("seed", range(12))
def test_what_was_created_just_before_a_kill_is_durable_before_it_is_written_to(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(seed)
    house.client.call(CreateTopicsRequest(topics=[]), 4)

    def cut(*_: object) -> None:
        raise PowerGone

    monkeypatch.setattr(SimDisk, "sync_all", cut)
    with pytest.raises(PowerGone):
        house.create()
    monkeypatch.undo()
    house.node.kill()
    house.start()
    house.produce(3)
    house.node.power_cut()
    house.start()
    assert house.offsets() == (0, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_first_change_of_a_new_cluster_survives_a_power_cut(seed: int) -> None:
    house = House(seed)
    change = AlterConfigsResource(
        resource_type=4,
        resource_name="1",
        configs=[AlterableConfig(name="log.retention.ms", config_operation=0, value="1234")],
    )
    answer = house.client.call(IncrementalAlterConfigsRequest(resources=[change]), 1)
    assert answer.responses[0].error_code == 0
    house.node.power_cut()
    house.start()
    assert house.node.core is not None
    assert house.node.core.setting_int("log.retention.ms") == 1234


def test_a_consumer_that_stood_at_the_end_sees_no_truncation_after_a_crash() -> None:
    house = House(1)
    assert house.create() == 0
    for written in (0, 3):
        house.produce(written)
        asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
        latest = house.client.call(ListOffsetsRequest(replica_id=-1, topics=[asked]), 7).topics[0].partitions[0]
        for _ in range(2):  # two new leader epochs, in which nothing is written
            house.node.kill()
            house.start()
        epoch = OffsetForLeaderPartition(
            partition=0, current_leader_epoch=latest.leader_epoch + 2, leader_epoch=latest.leader_epoch
        )
        topic = OffsetForLeaderTopic(topic=TOPIC, partitions=[epoch])
        answer = house.client.call(OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic]), 4)
        found = answer.topics[0].partitions[0]
        assert found.error_code == 0
        assert found.leader_epoch >= 0
        assert found.end_offset == latest.offset == written
        assert house.node.core is not None
        partition = house.node.core.topics[TOPIC].partitions[0]
        assert partition is not None
        assert partition.epoch_end_offset(partition.leader_epoch + 1) == (-1, -1)
