"""Partitions take the roles that the image gives them: led, followed, handed over, given up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tapelog.metadata.delta import ImageDelta
from tapelog.node import truncations
from tapelog.node.core import NodeCore
from tapelog.node.partitions import PARTITIONS_PER_STEP
from tapelog.node.truncations import CUTS_PER_STEP
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import EpochEndOffset, FetchableTopicResponse, FetchResponse, PartitionData
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.records.partition_change_record import PartitionChangeRecord
from tests.support.rig import TOPIC, Rig, produce_request

OTHER = 2


class Sent:
    """What the node sends to other brokers."""

    def __init__(self, core: NodeCore) -> None:
        self.requests: list[tuple[int, FetchRequest, Callable[[Message | None], None]]] = []
        core.remote.to_broker = self._send  # type: ignore[method-assign,assignment]

    def _send(
        self, node: int, lane: str, request: Message, version: int, timeout: int, done: Callable[[Message | None], None]
    ) -> None:
        assert isinstance(request, FetchRequest)
        self.requests.append((node, request, done))

    def positions(self) -> list[tuple[int, int, int]]:
        """(partition, offset, epoch of the last record) of the only request under way."""
        ((node, request, _),) = self.requests
        assert node == OTHER
        parts = [part for topic in request.topics for part in topic.partitions]
        return [(part.partition, part.fetch_offset, part.last_fetched_epoch) for part in parts]

    def answer(self, topic_id: bytes, *parts: PartitionData) -> None:
        """The oldest request is answered."""
        _, _, done = self.requests.pop(0)
        response = FetchResponse(session_id=7)
        response.responses = [FetchableTopicResponse(topic_id=topic_id, partitions=list(parts))]
        done(response)


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=2)
    return rig


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def publish(rig: Rig, changes: Iterable[PartitionChangeRecord]) -> None:
    """The next image, as if the quorum had committed these records."""
    core = core_of(rig)
    delta = ImageDelta(core.image)
    for change in changes:
        delta.replay(change)
    image = delta.build(core.image.offset + 1, core.image.epoch)
    core.metadata._take(image)
    core.follow(delta)
    rig.node.settle()


def change(rig: Rig, index: int, leader: int = -2, replicas: list[int] | None = None) -> PartitionChangeRecord:
    """Leader and replicas (all of them in sync) of a partition change."""
    return PartitionChangeRecord(
        partition_id=index, topic_id=rig.topic_id(), isr=replicas, replicas=replicas, leader=leader
    )


def hand_over(rig: Rig, *indexes: int) -> Sent:
    """Broker 2 leads these from now on."""
    sent = Sent(core_of(rig))
    publish(rig, [change(rig, index, OTHER, [1, OTHER]) for index in indexes])
    return sent


def test_a_partition_handed_over_is_followed_from_its_end_and_served_no_more(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    sent = hand_over(rig, 0)
    assert not rig.partition().leading
    assert sent.positions() == [(0, 2, 0)]
    assert rig.produce().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rig.produce(index=1).error_code == 0
    core_of(rig).partitions.fetchers.invariants()


def test_what_the_leader_sends_is_appended_and_becomes_readable_here(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    sent = hand_over(rig, 0)
    data = build_batch([Record(0, 1000, b"k", b"b")], base_offset=1, leader_epoch=1)
    sent.answer(rig.topic_id(), PartitionData(partition_index=0, high_watermark=2, log_start_offset=0, records=data))
    rig.node.settle()
    rig.node.pass_time(20)
    assert rig.partition().high_watermark == 2
    assert sent.positions() == [(0, 2, 1)]


def test_who_waits_for_an_acknowledgement_hears_of_the_new_leader(rig: Rig) -> None:
    publish(rig, [change(rig, 0, 1, [1, OTHER])])
    rig.node.pass_time(50)
    told = rig.later(produce_request((TOPIC, 0, rig.batch())), 9)
    rig.node.pass_time(50)
    assert not told, "the other replica has not fetched it"
    hand_over(rig, 0)
    rig.node.pass_time(50)
    answers = [part.error_code for topic in told[0].responses for part in topic.partition_responses]
    assert answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_leadership_comes_back_and_nothing_more_is_fetched(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    sent = hand_over(rig, 0)
    publish(rig, [change(rig, 0, 1, [1])])
    data = build_batch([Record(0, 1000, b"k", b"late")], base_offset=1, leader_epoch=1)
    sent.answer(rig.topic_id(), PartitionData(partition_index=0, records=data))
    rig.node.settle()
    rig.node.pass_time(50)
    assert sent.requests == []
    assert rig.produce(rig.batch(b"b")).error_code == 0
    assert rig.values() == [b"a", b"b"]
    assert rig.partition().leader_epoch == 2


def test_a_partition_without_a_leader_is_fetched_from_nobody(rig: Rig) -> None:
    sent = Sent(core_of(rig))
    publish(rig, [change(rig, 0, -1)])
    assert not rig.partition().leading
    assert sent.requests == []
    assert rig.produce().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_replica_that_moved_away_takes_its_files_along(rig: Rig) -> None:
    rig.produce()
    publish(rig, [change(rig, 0, OTHER, [OTHER])])
    rig.node.pass_time(100)
    core = core_of(rig)
    assert core.topics[TOPIC].partitions[0] is None
    assert (TOPIC, 0) not in core.directory.logs
    assert rig.produce().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert f"{TOPIC}-0" not in rig.node.disk.listdir("logs")


def test_a_new_isr_is_no_change_of_role(rig: Rig) -> None:
    publish(rig, [change(rig, 0, 1, [1, OTHER])])
    epoch, partition = rig.partition().leader_epoch, rig.partition()
    publish(rig, [PartitionChangeRecord(partition_id=0, topic_id=rig.topic_id(), isr=[1])])
    assert rig.partition() is partition
    assert (partition.leading, partition.leader_epoch) == (True, epoch)
    rig.node.pass_time(10)
    assert rig.produce().error_code == 0


def test_thousands_of_partitions_change_their_role_a_piece_per_wake_up() -> None:
    rig = Rig()
    count = PARTITIONS_PER_STEP * 2 + 100
    rig.create(partitions=count)
    core = core_of(rig)
    rig.node.pass_time(20)
    sent = Sent(core)
    publish(rig, [change(rig, index, OTHER, [1, OTHER]) for index in range(count)])
    led = [partition.leading for partition in core.partitions.all()]
    assert led.count(False) == PARTITIONS_PER_STEP, "the rest of it in the next wake-ups"
    for _ in range(5):
        rig.node.pass_time(1)
    assert not any(partition.leading for partition in core.partitions.all())
    asked = sum(len(topic.partitions) for _, request, _ in sent.requests for topic in request.topics)
    assert asked == count
    assert len(sent.requests) <= 3


def test_a_followers_high_watermark_survives_a_restart(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b", b"c"))
    hand_over(rig, 0)
    core = core_of(rig)
    core.directory.write_checkpoints(core.partitions.high_watermarks())
    assert core.directory.high_watermarks[TOPIC, 0] == 3
    rig.node.pass_time(6000)
    rig.node.kill()
    rig.node.boot()
    assert core_of(rig).directory.high_watermarks[TOPIC, 0] == 3


def test_tails_that_the_new_leader_does_not_have_are_cut_a_piece_per_wake_up() -> None:
    rig = Rig()
    count = CUTS_PER_STEP + 10
    rig.create(partitions=count)
    for index in range(count):
        rig.produce(rig.batch(b"kept"), index=index)
        rig.produce(rig.batch(b"lost"), index=index)
    sent = hand_over(rig, *range(count))
    core = core_of(rig)
    core.directory.start_checkpoint({}, lambda _: None)
    parts = EpochEndOffset(epoch=0, end_offset=1)
    answers = [PartitionData(partition_index=index, diverging_epoch=parts) for index in range(count)]
    sent.answer(rig.topic_id(), *answers)
    rig.node.settle()
    assert not any(held.log.end_offset == 1 for held in core.partitions.all()), "after the checkpoint"
    rig.node.pass_time(50)
    assert all(held.log.end_offset == 1 for held in core.partitions.all())
    assert len(sent.positions()) == count
    assert core.partitions.fetchers.truncations.below_high_watermark == count, "it was readable: an unclean election"
    rig.node.power_cut()
    rig.node.boot()
    assert [held.log.end_offset for held in core_of(rig).partitions.all()] == [1] * count


def test_a_cut_that_finds_the_disk_full_is_tried_again(rig: Rig) -> None:
    rig.produce(rig.batch(b"kept"))
    rig.produce(rig.batch(b"lost"))
    core = core_of(rig)
    core.directory.write_checkpoints(core.partitions.high_watermarks())
    sent = hand_over(rig, 0)
    rig.node.disk.capacity_bytes = rig.node.disk.total_bytes() - rig.node.disk.free_bytes()
    diverging = PartitionData(partition_index=0, diverging_epoch=EpochEndOffset(epoch=0, end_offset=1))
    sent.answer(rig.topic_id(), diverging)
    rig.node.settle()
    assert rig.partition().log.end_offset == 2
    assert sent.requests == []
    rig.node.disk.capacity_bytes = None
    rig.node.pass_time(30)
    assert sent.positions() == [(0, 2, 0)]
    sent.answer(rig.topic_id(), diverging)
    rig.node.settle()
    rig.node.pass_time(30)
    assert sent.positions() == [(0, 1, 0)]


def test_long_logs_are_cut_one_per_wake_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truncations, "BYTES_PER_STEP", 1)
    rig = Rig()
    rig.create(partitions=3)
    for index in range(3):
        rig.produce(rig.batch(b"kept"), index=index)
        rig.produce(rig.batch(b"lost"), index=index)
    sent = hand_over(rig, 0, 1, 2)
    parts = EpochEndOffset(epoch=0, end_offset=1)
    sent.answer(rig.topic_id(), *[PartitionData(partition_index=index, diverging_epoch=parts) for index in range(3)])
    rig.node.settle()
    assert sorted(held.log.end_offset for held in core_of(rig).partitions.all()) == [1, 2, 2]
    rig.node.pass_time(50)
    assert [held.log.end_offset for held in core_of(rig).partitions.all()] == [1, 1, 1]
