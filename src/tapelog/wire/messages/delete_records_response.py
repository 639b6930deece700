"""DeleteRecordsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeleteRecordsPartitionResult(Message):
    """Part of DeleteRecordsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "low_watermark",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, low_watermark: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.low_watermark: int = low_watermark
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsPartitionResult:
        made = DeleteRecordsPartitionResult(
            r.i32(),
            r.i64(),
            r.i16(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.low_watermark)
        w.i16(self.error_code)
        if version >= 2:
            w.uvarint(0)


class DeleteRecordsTopicResult(Message):
    """Part of DeleteRecordsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[DeleteRecordsPartitionResult] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[DeleteRecordsPartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsTopicResult:
        made = DeleteRecordsTopicResult(
            r.compact_string() if version >= 2 else r.string(),
            [DeleteRecordsPartitionResult.decode(r, version) for _ in range(r.compact_array(14))]
            if version >= 2
            else [DeleteRecordsPartitionResult.decode(r, version) for _ in range(r.array(14))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class DeleteRecordsResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[DeleteRecordsTopicResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[DeleteRecordsTopicResult] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsResponse:
        if version < 0 or version > 2:
            bad_version("DeleteRecordsResponse", version)
        made = DeleteRecordsResponse(
            r.i32(),
            [DeleteRecordsTopicResult.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [DeleteRecordsTopicResult.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DeleteRecordsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
