"""ConsumerGroupCurrentMemberAssignmentValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ConsumerGroupCurrentMemberAssignmentValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
        "assignment_epochs",
    )

    def __init__(
        self, topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY, assignment_epochs: list[int] | None = EMPTY
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.assignment_epochs: list[int] | None = [] if assignment_epochs is EMPTY else assignment_epochs

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitions:
        made = TopicPartitions(
            r.uuid(),
            r.i32_items(r.compact_array(4)),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.assignment_epochs = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        tags = 0
        if self.assignment_epochs is None or self.assignment_epochs:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.assignment_epochs is None or self.assignment_epochs:
                field = Writer()
                if self.assignment_epochs is None:
                    field.compact_array(-1)
                else:
                    field.compact_array(len(self.assignment_epochs))
                    field.i32_items(self.assignment_epochs)
                w.tagged(0, field)


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = EMPTY,
        partitions_pending_revocation: list[TopicPartitions] = EMPTY,
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.assigned_partitions: list[TopicPartitions] = [] if assigned_partitions is EMPTY else assigned_partitions
        self.partitions_pending_revocation: list[TopicPartitions] = (
            [] if partitions_pending_revocation is EMPTY else partitions_pending_revocation
        )

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupCurrentMemberAssignmentValue:
        if version != 0:
            bad_version("ConsumerGroupCurrentMemberAssignmentValue", version)
        made = ConsumerGroupCurrentMemberAssignmentValue(
            r.i32(),
            r.i32(),
            r.i8(),
            [TopicPartitions.decode(r, version) for _ in range(r.compact_array(18))],
            [TopicPartitions.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupCurrentMemberAssignmentValue", version)
        w.i32(self.member_epoch)
        w.i32(self.previous_member_epoch)
        w.i8(self.state)
        w.compact_array(len(self.assigned_partitions))
        for assigned_partitions_item in self.assigned_partitions:
            assigned_partitions_item.encode(w, version)
        w.compact_array(len(self.partitions_pending_revocation))
        for partitions_pending_revocation_item in self.partitions_pending_revocation:
            partitions_pending_revocation_item.encode(w, version)
        w.uvarint(0)
