"""DeleteRecordsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeleteRecordsPartition(Message):
    """Part of DeleteRecordsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "offset",
    )

    def __init__(self, partition_index: int = 0, offset: int = 0) -> None:
        self.partition_index: int = partition_index
        self.offset: int = offset

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsPartition:
        made = DeleteRecordsPartition(
            r.i32(),
            r.i64(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.offset)
        if version >= 2:
            w.uvarint(0)


class DeleteRecordsTopic(Message):
    """Part of DeleteRecordsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[DeleteRecordsPartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[DeleteRecordsPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsTopic:
        made = DeleteRecordsTopic(
            r.compact_string() if version >= 2 else r.string(),
            [DeleteRecordsPartition.decode(r, version) for _ in range(r.compact_array(12))]
            if version >= 2
            else [DeleteRecordsPartition.decode(r, version) for _ in range(r.array(12))],
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


class DeleteRecordsRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
    )

    def __init__(self, topics: list[DeleteRecordsTopic] = EMPTY, timeout_ms: int = 0) -> None:
        self.topics: list[DeleteRecordsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteRecordsRequest:
        if version < 0 or version > 2:
            bad_version("DeleteRecordsRequest", version)
        made = DeleteRecordsRequest(
            [DeleteRecordsTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [DeleteRecordsTopic.decode(r, version) for _ in range(r.array(3))],
            r.i32(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DeleteRecordsRequest", version)
        if version >= 2:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.i32(self.timeout_ms)
        if version >= 2:
            w.uvarint(0)
