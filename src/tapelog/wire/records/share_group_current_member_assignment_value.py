"""ShareGroupCurrentMemberAssignmentValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ShareGroupCurrentMemberAssignmentValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitions:
        made = TopicPartitions(
            r.uuid(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class ShareGroupCurrentMemberAssignmentValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = EMPTY,
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.assigned_partitions: list[TopicPartitions] = [] if assigned_partitions is EMPTY else assigned_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupCurrentMemberAssignmentValue:
        if version != 0:
            bad_version("ShareGroupCurrentMemberAssignmentValue", version)
        made = ShareGroupCurrentMemberAssignmentValue(
            r.i32(),
            r.i32(),
            r.i8(),
            [TopicPartitions.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupCurrentMemberAssignmentValue", version)
        w.i32(self.member_epoch)
        w.i32(self.previous_member_epoch)
        w.i8(self.state)
        w.compact_array(len(self.assigned_partitions))
        for assigned_partitions_item in self.assigned_partitions:
            assigned_partitions_item.encode(w, version)
        w.uvarint(0)
