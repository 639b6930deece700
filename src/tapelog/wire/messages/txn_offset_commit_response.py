"""TxnOffsetCommitResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TxnOffsetCommitResponsePartition(Message):
    """Part of TxnOffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> TxnOffsetCommitResponsePartition:
        made = TxnOffsetCommitResponsePartition(
            r.i32(),
            r.i16(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        if version >= 3:
            w.uvarint(0)


class TxnOffsetCommitResponseTopic(Message):
    """Part of TxnOffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[TxnOffsetCommitResponsePartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[TxnOffsetCommitResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TxnOffsetCommitResponseTopic:
        made = TxnOffsetCommitResponseTopic(
            r.compact_string() if version >= 3 else r.string(),
            [TxnOffsetCommitResponsePartition.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 3
            else [TxnOffsetCommitResponsePartition.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 3:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)


class TxnOffsetCommitResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[TxnOffsetCommitResponseTopic] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponseTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> TxnOffsetCommitResponse:
        if version < 0 or version > 5:
            bad_version("TxnOffsetCommitResponse", version)
        made = TxnOffsetCommitResponse(
            r.i32(),
            [TxnOffsetCommitResponseTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 3
            else [TxnOffsetCommitResponseTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("TxnOffsetCommitResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 3:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)
