"""ElectLeadersRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ElectLeadersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitions:
        made = TopicPartitions(
            r.compact_string() if version >= 2 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 2 else r.i32_items(r.array(4)),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.topic)
            w.compact_array(len(self.partitions))
            w.i32_items(self.partitions)
        else:
            w.string(self.topic)
            w.array(len(self.partitions))
            w.i32_items(self.partitions)
        if version >= 2:
            w.uvarint(0)


class ElectLeadersRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "election_type",
        "topic_partitions",
        "timeout_ms",
    )

    def __init__(
        self, election_type: int = 0, topic_partitions: list[TopicPartitions] | None = EMPTY, timeout_ms: int = 60000
    ) -> None:
        self.election_type: int = election_type
        self.topic_partitions: list[TopicPartitions] | None = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms: int = timeout_ms

    @staticmethod
    def decode(r: Reader, version: int) -> ElectLeadersRequest:
        if version < 0 or version > 2:
            bad_version("ElectLeadersRequest", version)
        made = ElectLeadersRequest(
            r.i8() if version >= 1 else 0,
            (None if (n := r.compact_nullable_array(3)) < 0 else [TopicPartitions.decode(r, version) for _ in range(n)])
            if version >= 2
            else None
            if (n := r.nullable_array(3)) < 0
            else [TopicPartitions.decode(r, version) for _ in range(n)],
            r.i32(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("ElectLeadersRequest", version)
        if version >= 1:
            w.i8(self.election_type)
        else:
            if self.election_type != 0:
                lost_field("ElectLeadersRequest.election_type", version)
        if version >= 2:
            if self.topic_partitions is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.topic_partitions))
                for topic_partitions_item in self.topic_partitions:
                    topic_partitions_item.encode(w, version)
        else:
            if self.topic_partitions is None:
                w.array(-1)
            else:
                w.array(len(self.topic_partitions))
                for topic_partitions_item in self.topic_partitions:
                    topic_partitions_item.encode(w, version)
        w.i32(self.timeout_ms)
        if version >= 2:
            w.uvarint(0)
