"""A disk that does not answer: producers hear of it when their time is over, and the node goes on afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapelog.base.ports import DiskError, File
from tapelog.sim.client import SimClient
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.node import SimNode
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import ProduceResponse
from tapelog.wire.record_batch import Record, build_batch


class HungDisk:
    """Holds flush rounds back until told to go on."""

    def __init__(self) -> None:
        self.held: list[Callable[[DiskError | None], None]] = []

    def start_flush(self, files: list[File], done: Callable[[DiskError | None], None]) -> None:
        self.held.append(done)


def produce(client: SimClient, acks: int, timeout_ms: int) -> list[ProduceResponse]:
    batch = build_batch([Record(0, 1, None, b"value")])
    data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])]
    answers: list[ProduceResponse] = []
    client.send(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data), 9, answers.append)
    return answers


def test_a_produce_is_answered_with_a_timeout_when_the_disk_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SimNode(SimEntropy(1), SimClock())
    node.boot()
    client, patient = SimClient(node), SimClient(node)
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    assert client.call(CreateTopicsRequest(topics=[topic]), 4).topics[0].error_code == 0
    node.pass_time(1000)
    disk = HungDisk()
    monkeypatch.setattr(node.disk, "start_flush", disk.start_flush)
    hasty, leader_only, waiting = produce(client, -1, 2000), produce(client, 1, 2000), produce(patient, -1, 60_000)
    node.pass_time(1900)
    assert not hasty and not leader_only
    node.pass_time(1000)
    for answers in (hasty, leader_only):
        part = answers[0].responses[0].partition_responses[0]
        assert part.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert part.base_offset == -1
    assert not waiting
    monkeypatch.undo()
    for done in disk.held:
        done(None)
    node.settle()
    node.pass_time(100)
    part = waiting[0].responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (0, 2)
    node.invariants()
