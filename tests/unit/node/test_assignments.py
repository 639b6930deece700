"""Where replicas are is told to a controller that has it wrong, and asked until it is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.base.ids import DIR_LOST, DIR_UNASSIGNED
from tapelog.base.timers import Timers
from tapelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.node.assignments import REPLICAS_PER_REQUEST_MAX, RETRY_MS, Assignments
from tapelog.sim.clock import SimClock
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from tapelog.wire.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from tests.support.rig import TOPIC, Rig

ME, OURS, T = 1, b"d" * 16, b"t" * 16


class Node:
    """As much of a node as the assignments need."""

    node_id, parted = ME, False

    def __init__(self, *directories: bytes) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.directory = self.lifecycle = self
        self.directory_id, self.epoch = OURS, 7
        self.sent: list[tuple[AssignReplicasToDirsRequest, Callable[[Any], None]]] = []
        self.assignments = Assignments(self)  # type: ignore[arg-type]
        self.publish(*directories)

    def home(self, key: tuple[str, int]) -> Node:
        """The directory of a replica: the only one."""
        return self

    def publish(self, *directories: bytes) -> None:
        """A topic whose partitions are in these directories, here."""
        parts = tuple(PartitionImage((2, ME), (2,), 2, 0, 0, directories=(b"x" * 16, one)) for one in directories)
        topic = TopicImage("t", T, parts)
        self.image = MetadataImage(topics={"t": topic}, topics_by_id={T: topic})
        for index, part in enumerate(parts):
            self.assignments.look(T, index, part)
        self.pass_time(0)

    def to_controller(self, request: Any, version: int, timeout_ms: int, done: Callable[[Any], None]) -> None:
        self.sent.append((request, done))

    def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()

    def asked(self) -> list[int]:
        """The partitions of the request that was sent last, taken away."""
        ((request, self.answer),) = self.sent
        self.sent = []
        assert (request.broker_id, request.broker_epoch) == (ME, 7)
        ((directory),) = request.directories
        assert directory.id == OURS and [one.topic_id for one in directory.topics] == [T]
        return [part.partition_index for part in directory.topics[0].partitions]


def test_what_the_controller_has_right_is_not_told() -> None:
    assert Node(OURS, OURS).sent == []


def test_what_it_has_wrong_is_told_at_once_and_together() -> None:
    node = Node(DIR_UNASSIGNED, OURS, DIR_LOST)
    assert node.asked() == [0, 2]
    node.answer(AssignReplicasToDirsResponse())
    node.pass_time(60_000)
    assert node.sent == [], "answered: the image will have it"


@pytest.mark.parametrize(
    "refusal",
    [
        KafkaError(ErrorCode.REQUEST_TIMED_OUT, "nobody answers"),
        AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_it_is_asked_again_until_somebody_answers(refusal: Any) -> None:
    node = Node(DIR_UNASSIGNED, DIR_UNASSIGNED)
    assert node.asked() == [0, 1]
    node.answer(refusal)
    node.pass_time(RETRY_MS - 1)
    assert node.sent == []
    node.publish(OURS, DIR_UNASSIGNED)
    node.pass_time(1)
    assert node.asked() == [1], "the image has got the other one right meanwhile"


def test_one_request_at_a_time_and_none_too_large() -> None:
    node = Node(*[DIR_UNASSIGNED] * (REPLICAS_PER_REQUEST_MAX + 1))
    node.pass_time(1000)
    assert len(node.asked()) == REPLICAS_PER_REQUEST_MAX
    node.answer(AssignReplicasToDirsResponse())
    node.pass_time(0)
    assert node.asked() == [REPLICAS_PER_REQUEST_MAX]


def test_a_node_sets_right_what_the_metadata_says_of_its_replicas() -> None:
    rig = Rig()
    rig.create(partitions=2)
    core = rig.node.core
    assert core is not None
    ours = core.directory.directory_id
    assert [part.directories for part in core.image.topics[TOPIC].partitions] == [(ours,)] * 2
    lost = PartitionChangeRecord(partition_id=1, topic_id=rig.topic_id(), directories=[DIR_UNASSIGNED])
    told: list[object] = []
    core.change_metadata(lambda image: Outcome([lost], None), told.append)
    rig.node.settle()
    rig.node.pass_time(100)
    assert told == [None]
    assert [part.directories for part in core.image.topics[TOPIC].partitions] == [(ours,)] * 2
    assert core.image.topics[TOPIC].partitions[1].partition_epoch == 2, "it was wrong for a moment"
