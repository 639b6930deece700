"""What a node asks of the controller about its in-sync replicas, and what the answers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.metadata.image import BrokerImage, MetadataImage
from tapelog.node.isr import RETRY_MS, TICK_MS, IsrUpdates
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest
from tapelog.wire.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from tests.unit.replication.bench import ME, OTHER, THIRD, Bench

LAG_MS = 30_000
EPOCHS = {ME: 11, OTHER: 12, THIRD: 13}


class Layers:
    """Settings of a node, as far as they are asked for."""

    def text(self, name: str) -> str | None:
        return {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}[name]


class Metadata:
    broker_epoch = 11
    layers = Layers()


class Node:
    """As much of a node as the updates need."""

    def __init__(self, bench: Bench, fenced: tuple[int, ...] = ()) -> None:
        self.hub, self.clock, self.node_id = bench.hub, bench.clock, ME
        self.remote = self
        self.attempts = 1
        self.timers = Timers(bench.clock)
        self.metadata = Metadata()
        self.rack_aware = False
        self.image = self.with_fenced(*fenced)
        self.sent: list[tuple[AlterPartitionRequest, Callable[[Any], None]]] = []

    def with_fenced(self, *fenced: int) -> MetadataImage:
        return MetadataImage(
            brokers={
                id: BrokerImage(id=id, epoch=epoch, fenced=id in fenced, rack=f"rack-{id}")
                for id, epoch in EPOCHS.items()
            }
        )

    def setting_int(self, name: str) -> int:
        return {"replica.lag.time.max.ms": LAG_MS}[name]

    def to_controller(self, request: AlterPartitionRequest, version: int, timeout_ms: int, done: Any) -> Node:
        assert version == 3
        self.sent.append((request, done))
        return self

    def pass_time(self, ms: int) -> None:
        for _ in range(ms // 10):
            self.hub.now_ms = self.clock.monotonic_ms() + 10
            self.clock.advance(10)
            self.timers.run_due()


class World:
    """A leader with two followers that are not in sync yet."""

    def __init__(self, isr: tuple[int, ...] = (ME,)) -> None:
        self.bench = Bench()
        self.node = Node(self.bench)
        self.updates = IsrUpdates(self.node)  # type: ignore[arg-type]
        self.updates.start()
        self.bench.now_ms = self.bench.clock.monotonic_ms()
        self.bench.lead(isr=isr)

    def claim(self, replica: int, offset: int = 0) -> None:
        self.bench.partition.follower_fetched(replica, offset, EPOCHS[replica], self.bench.clock.monotonic_ms())
        self.updates.flush()

    def answer(self, code: int = 0, top: int = 0, index: int = 0, topics: bool = True) -> None:
        request, done = self.node.sent[-1]
        asked = request.topics[0].partitions[0]
        answer = PartitionData(partition_index=index, error_code=code)
        if not code:
            answer.isr = [state.broker_id for state in asked.new_isr_with_epochs]
            answer.leader_epoch, answer.partition_epoch = asked.leader_epoch, asked.partition_epoch + 1
        topic = TopicData(topic_id=request.topics[0].topic_id, partitions=[answer])
        done(AlterPartitionResponse(error_code=top, topics=[topic] if topics and not top else []))

    @property
    def isr(self) -> tuple[int, ...]:
        return self.bench.isr

    @property
    def sent(self) -> int:
        return len(self.node.sent)


def test_a_question_names_epochs_of_brokers_leader_and_partition() -> None:
    world = World()
    world.claim(OTHER)
    request = world.node.sent[0][0]
    assert (request.broker_id, request.broker_epoch) == (ME, 11)
    part = request.topics[0].partitions[0]
    assert request.topics[0].topic_id == world.bench.partition.topic_id
    assert (part.partition_index, part.leader_epoch, part.partition_epoch) == (0, 1, 1)
    assert [(one.broker_id, one.broker_epoch) for one in part.new_isr_with_epochs] == [(ME, 11), (OTHER, 12)]


def test_one_request_is_under_way_at_a_time() -> None:
    world = World()
    world.claim(OTHER)
    world.claim(THIRD)
    assert world.sent == 1
    world.answer()
    assert world.isr == (ME, OTHER)
    world.claim(THIRD)
    assert world.sent == 2
    world.answer()
    assert world.isr == (ME, OTHER, THIRD)


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_a_question_that_was_not_answered_is_asked_again_after_a_rest(code: ErrorCode) -> None:
    world = World()
    world.claim(OTHER)
    world.answer(int(code))
    assert world.sent == 1
    world.node.pass_time(RETRY_MS)
    assert world.sent == 2
    world.answer()
    assert world.isr == (ME, OTHER)


def test_a_request_refused_as_a_whole_is_asked_again() -> None:
    world = World()
    world.claim(OTHER)
    world.answer(top=int(ErrorCode.STALE_BROKER_EPOCH))
    world.node.metadata.broker_epoch = 77
    world.node.pass_time(RETRY_MS)
    assert world.node.sent[1][0].broker_epoch == 77


def test_a_controller_that_cannot_be_reached_is_asked_again() -> None:
    world = World()
    world.claim(OTHER)
    world.node.sent[0][1](KafkaError(ErrorCode.REQUEST_TIMED_OUT, ""))
    world.node.pass_time(RETRY_MS)
    assert world.sent == 2


def test_a_partition_left_out_of_the_answer_is_asked_for_again() -> None:
    world = World()
    world.claim(OTHER)
    world.answer(topics=False)
    world.node.pass_time(RETRY_MS)
    assert world.sent == 2


def test_what_the_image_has_decided_meanwhile_is_not_asked_again() -> None:
    world = World()
    world.claim(OTHER)
    world.bench.partition.follow(OTHER, 2)
    world.answer(int(ErrorCode.NOT_CONTROLLER))
    world.node.pass_time(RETRY_MS)
    assert world.sent == 1


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_refusal_counts_only_if_no_other_copy_of_the_question_is_under_way(attempts: int) -> None:
    world = World()
    world.claim(OTHER)
    world.node.attempts = attempts
    world.answer(int(ErrorCode.INELIGIBLE_REPLICA))
    world.bench.store(1)
    world.bench.hub.alive.pop(OTHER)
    world.bench.partition.check_isr(world.bench.clock.monotonic_ms())
    assert world.bench.high_watermark == (1 if attempts == 1 else 0)


def test_laggards_are_found_by_the_clock() -> None:
    world = World(isr=(ME, OTHER, THIRD))
    world.bench.store(1)
    for _ in range(7):
        world.node.pass_time(LAG_MS // 4)
        world.claim(OTHER, 1)
    part = world.node.sent[0][0].topics[0].partitions[0]
    assert [one.broker_id for one in part.new_isr_with_epochs] == [ME, OTHER]


def test_appends_that_wait_too_long_are_told_so() -> None:
    world = World(isr=(ME, OTHER, THIRD))
    world.bench.store(1)
    world.bench.told.deadline_ms = world.bench.clock.monotonic_ms() + 1000
    world.node.pass_time(1000)
    assert world.bench.told.told == []
    world.node.pass_time(2 * TICK_MS)
    assert world.bench.told.told == [(1, ErrorCode.REQUEST_TIMED_OUT)]


def test_a_fenced_broker_does_not_enter_and_is_not_waited_for() -> None:
    world = World(isr=(ME, OTHER))
    world.node.image = world.node.with_fenced(THIRD)
    world.claim(OTHER)
    world.updates.brokers_changed()
    world.claim(THIRD)
    assert world.sent == 0
    world.bench.store(1)
    world.claim(OTHER, 1)
    assert world.bench.high_watermark == 1
    world.node.image = world.node.with_fenced()
    world.updates.brokers_changed()
    world.claim(THIRD, 1)
    assert world.sent == 1


def test_after_the_end_nothing_is_asked() -> None:
    world = World()
    world.updates.stop()
    world.claim(OTHER)
    world.node.pass_time(LAG_MS)
    assert world.sent == 0


def test_consumers_are_sent_to_the_replica_in_their_rack() -> None:
    world = World(isr=(ME, OTHER))
    partition = world.bench.partition
    world.bench.store(1, 2)
    partition.follower_fetched(OTHER, 1, 12, 0, 0)
    partition.follower_fetched(THIRD, 2, 13, 0, 0)
    assert world.node.rack_aware
    assert world.updates.nearest(partition, 1, "rack-2") == OTHER
    assert world.updates.nearest(partition, 2, "rack-2") == -1, "it has not come so far"
    assert world.updates.nearest(partition, 0, "rack-3") == -1, "not in sync"
    assert world.updates.nearest(partition, 0, "rack-1") == -1, "the leader is there"
    assert world.updates.nearest(partition, 0, "elsewhere") == -1


def test_what_was_wanted_meanwhile_is_asked_for_when_the_answer_has_come() -> None:
    world, other = World(), Bench()
    other.hub = other.partition.hub = world.bench.hub
    other.partition.index = 1
    other.partition.lead(1, 1, (ME, OTHER), (ME,), 0)
    world.claim(OTHER)
    other.partition.follower_fetched(OTHER, 0, 12, 0)
    world.updates.flush()
    assert world.sent == 1
    world.answer()
    assert world.sent == 2
    assert world.node.sent[1][0].topics[0].partitions[0].partition_index == 1


def test_racks_of_fenced_brokers_do_not_count() -> None:
    world = World(isr=(ME, OTHER))
    partition = world.bench.partition
    partition.follower_fetched(OTHER, 0, 12, 0, 0)
    world.node.image = world.node.with_fenced(OTHER)
    world.updates.brokers_changed()
    assert world.updates.nearest(partition, 0, "rack-2") == -1
