"""ListOffsetsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListOffsetsPartition(Message):
    """Part of ListOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "current_leader_epoch",
        "timestamp",
    )

    def __init__(self, partition_index: int = 0, current_leader_epoch: int = -1, timestamp: int = 0) -> None:
        self.partition_index: int = partition_index
        self.current_leader_epoch: int = current_leader_epoch
        self.timestamp: int = timestamp

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsPartition:
        made = ListOffsetsPartition(
            r.i32(),
            r.i32() if version >= 4 else -1,
            r.i64(),
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        if version >= 4:
            w.i32(self.current_leader_epoch)
        w.i64(self.timestamp)
        if version >= 6:
            w.uvarint(0)


class ListOffsetsTopic(Message):
    """Part of ListOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[ListOffsetsPartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[ListOffsetsPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsTopic:
        made = ListOffsetsTopic(
            r.compact_string() if version >= 6 else r.string(),
            [ListOffsetsPartition.decode(r, version) for _ in range(r.compact_array(12))]
            if version >= 6
            else [ListOffsetsPartition.decode(r, version) for _ in range(r.array(12))],
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 6:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 6:
            w.uvarint(0)


class ListOffsetsRequest(Message):
    """Versions 1 to 11."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    STABLE_MAX: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "isolation_level",
        "topics",
        "timeout_ms",
    )

    def __init__(
        self, replica_id: int = 0, isolation_level: int = 0, topics: list[ListOffsetsTopic] = EMPTY, timeout_ms: int = 0
    ) -> None:
        self.replica_id: int = replica_id
        self.isolation_level: int = isolation_level
        self.topics: list[ListOffsetsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsRequest:
        if version < 1 or version > 11:
            bad_version("ListOffsetsRequest", version)
        made = ListOffsetsRequest(
            r.i32(),
            r.i8() if version >= 2 else 0,
            [ListOffsetsTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 6
            else [ListOffsetsTopic.decode(r, version) for _ in range(r.array(3))],
            r.i32() if version >= 10 else 0,
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 11:
            bad_version("ListOffsetsRequest", version)
        w.i32(self.replica_id)
        if version >= 2:
            w.i8(self.isolation_level)
        else:
            if self.isolation_level != 0:
                lost_field("ListOffsetsRequest.isolation_level", version)
        if version >= 6:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 10:
            w.i32(self.timeout_ms)
        if version >= 6:
            w.uvarint(0)
