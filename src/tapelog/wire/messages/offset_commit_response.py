"""OffsetCommitResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class OffsetCommitResponsePartition(Message):
    """Part of OffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitResponsePartition:
        made = OffsetCommitResponsePartition(
            r.i32(),
            r.i16(),
        )
        if version >= 8:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        if version >= 8:
            w.uvarint(0)


class OffsetCommitResponseTopic(Message):
    """Part of OffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, partitions: list[OffsetCommitResponsePartition] = EMPTY
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetCommitResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitResponseTopic:
        made = OffsetCommitResponseTopic(
            "" if version >= 10 else r.compact_string() if version >= 8 else r.string(),
            r.uuid() if version >= 10 else ZERO_UUID,
            [OffsetCommitResponsePartition.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 8
            else [OffsetCommitResponsePartition.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 8:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 10:
            pass
        elif version >= 8:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        if version >= 10:
            w.uuid(self.topic_id)
        if version >= 8:
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 8:
            w.uvarint(0)


class OffsetCommitResponse(Message):
    """Versions 2 to 10."""

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    STABLE_MAX: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[OffsetCommitResponseTopic] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetCommitResponseTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitResponse:
        if version < 2 or version > 10:
            bad_version("OffsetCommitResponse", version)
        made = OffsetCommitResponse(
            r.i32() if version >= 3 else 0,
            [OffsetCommitResponseTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 8
            else [OffsetCommitResponseTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 8:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 10:
            bad_version("OffsetCommitResponse", version)
        if version >= 3:
            w.i32(self.throttle_time_ms)
        if version >= 8:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 8:
            w.uvarint(0)
