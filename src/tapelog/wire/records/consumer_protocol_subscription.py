"""ConsumerProtocolSubscription. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicPartition(Message):
    """Part of ConsumerProtocolSubscription."""

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


class ConsumerProtocolSubscription(Message):
    """Versions 0 to 3."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "user_data",
        "owned_partitions",
        "generation_id",
        "rack_id",
    )

    def __init__(
        self,
        topics: list[str] = EMPTY,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = EMPTY,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics: list[str] = [] if topics is EMPTY else topics
        self.user_data: bytes | None = user_data
        self.owned_partitions: list[TopicPartition] = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id: int = generation_id
        self.rack_id: str | None = rack_id

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerProtocolSubscription:
        if version < 0 or version > 3:
            bad_version("ConsumerProtocolSubscription", version)
        return ConsumerProtocolSubscription(
            [r.string() for _ in range(r.array(2))],
            r.nullable_bytestring(),
            [TopicPartition.decode(r, version) for _ in range(r.array(6))] if version >= 1 else [],
            r.i32() if version >= 2 else -1,
            r.nullable_string() if version >= 3 else None,
        )

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 3:
            bad_version("ConsumerProtocolSubscription", version)
        w.array(len(self.topics))
        for topics_item in self.topics:
            w.string(topics_item)
        w.nullable_bytestring(self.user_data)
        if version >= 1:
            w.array(len(self.owned_partitions))
            for owned_partitions_item in self.owned_partitions:
                owned_partitions_item.encode(w, version)
        if version >= 2:
            w.i32(self.generation_id)
        if version >= 3:
            w.nullable_string(self.rack_id)
