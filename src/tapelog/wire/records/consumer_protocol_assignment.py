"""ConsumerProtocolAssignment. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicPartition(Message):
    """Part of ConsumerProtocolAssignment."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartition:
        return TopicPartition(
            r.string(),
            r.i32_items(r.array(4)),
        )

    def encode(self, w: Writer, version: int) -> None:
        w.string(self.topic)
        w.array(len(self.partitions))
        w.i32_items(self.partitions)


class ConsumerProtocolAssignment(Message):
    """Versions 0 to 3."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "assigned_partitions",
        "user_data",
    )

    def __init__(self, assigned_partitions: list[TopicPartition] = EMPTY, user_data: bytes | None = None) -> None:
        self.assigned_partitions: list[TopicPartition] = [] if assigned_partitions is EMPTY else assigned_partitions
        self.user_data: bytes | None = user_data

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerProtocolAssignment:
        if version < 0 or version > 3:
            bad_version("ConsumerProtocolAssignment", version)
        return ConsumerProtocolAssignment(
            [TopicPartition.decode(r, version) for _ in range(r.array(6))],
            r.nullable_bytestring(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 3:
            bad_version("ConsumerProtocolAssignment", version)
        w.array(len(self.assigned_partitions))
        for assigned_partitions_item in self.assigned_partitions:
            assigned_partitions_item.encode(w, version)
        w.nullable_bytestring(self.user_data)
