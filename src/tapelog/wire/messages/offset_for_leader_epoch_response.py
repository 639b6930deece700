"""OffsetForLeaderEpochResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EpochEndOffset(Message):
    """Part of OffsetForLeaderEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition",
        "leader_epoch",
        "end_offset",
    )

    def __init__(self, error_code: int = 0, partition: int = 0, leader_epoch: int = -1, end_offset: int = -1) -> None:
        self.error_code: int = error_code
        self.partition: int = partition
        self.leader_epoch: int = leader_epoch
        self.end_offset: int = end_offset

    @staticmethod
    def decode(r: Reader, version: int) -> EpochEndOffset:
        made = EpochEndOffset(
            r.i16(),
            r.i32(),
            r.i32(),
            r.i64(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.i32(self.partition)
        w.i32(self.leader_epoch)
        w.i64(self.end_offset)
        if version >= 4:
            w.uvarint(0)


class OffsetForLeaderTopicResult(Message):
    """Part of OffsetForLeaderEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[EpochEndOffset] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[EpochEndOffset] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetForLeaderTopicResult:
        made = OffsetForLeaderTopicResult(
            r.compact_string() if version >= 4 else r.string(),
            [EpochEndOffset.decode(r, version) for _ in range(r.compact_array(18))]
            if version >= 4
            else [EpochEndOffset.decode(r, version) for _ in range(r.array(18))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.topic)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.topic)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)


class OffsetForLeaderEpochResponse(Message):
    """Versions 2 to 4."""

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[OffsetForLeaderTopicResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetForLeaderTopicResult] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetForLeaderEpochResponse:
        if version < 2 or version > 4:
            bad_version("OffsetForLeaderEpochResponse", version)
        made = OffsetForLeaderEpochResponse(
            r.i32(),
            [OffsetForLeaderTopicResult.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 4
            else [OffsetForLeaderTopicResult.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 4:
            bad_version("OffsetForLeaderEpochResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 4:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
