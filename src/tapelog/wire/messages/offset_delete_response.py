"""OffsetDeleteResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class OffsetDeleteResponsePartition(Message):
    """Part of OffsetDeleteResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteResponsePartition:
        return OffsetDeleteResponsePartition(
            r.i32(),
            r.i16(),
        )

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)


class OffsetDeleteResponseTopic(Message):
    """Part of OffsetDeleteResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[OffsetDeleteResponsePartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[OffsetDeleteResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteResponseTopic:
        return OffsetDeleteResponseTopic(
            r.string(),
            [OffsetDeleteResponsePartition.decode(r, version) for _ in range(r.array(6))],
        )

    def encode(self, w: Writer, version: int) -> None:
        w.string(self.name)
        w.array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)


class OffsetDeleteResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "throttle_time_ms",
        "topics",
    )

    def __init__(
        self, error_code: int = 0, throttle_time_ms: int = 0, topics: list[OffsetDeleteResponseTopic] = EMPTY
    ) -> None:
        self.error_code: int = error_code
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetDeleteResponseTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteResponse:
        if version != 0:
            bad_version("OffsetDeleteResponse", version)
        return OffsetDeleteResponse(
            r.i16(),
            r.i32(),
            [OffsetDeleteResponseTopic.decode(r, version) for _ in range(r.array(6))],
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("OffsetDeleteResponse", version)
        w.i16(self.error_code)
        w.i32(self.throttle_time_ms)
        w.array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
