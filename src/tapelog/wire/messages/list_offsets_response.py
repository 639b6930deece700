"""ListOffsetsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListOffsetsPartitionResponse(Message):
    """Part of ListOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "timestamp",
        "offset",
        "leader_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.timestamp: int = timestamp
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsPartitionResponse:
        made = ListOffsetsPartitionResponse(
            r.i32(),
            r.i16(),
            r.i64(),
            r.i64(),
            r.i32() if version >= 4 else -1,
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.i64(self.timestamp)
        w.i64(self.offset)
        if version >= 4:
            w.i32(self.leader_epoch)
        else:
            if self.leader_epoch != -1:
                lost_field("ListOffsetsPartitionResponse.leader_epoch", version)
        if version >= 6:
            w.uvarint(0)


class ListOffsetsTopicResponse(Message):
    """Part of ListOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[ListOffsetsPartitionResponse] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[ListOffsetsPartitionResponse] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsTopicResponse:
        made = ListOffsetsTopicResponse(
            r.compact_string() if version >= 6 else r.string(),
            [ListOffsetsPartitionResponse.decode(r, version) for _ in range(r.compact_array(22))]
            if version >= 6
            else [ListOffsetsPartitionResponse.decode(r, version) for _ in range(r.array(22))],
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


class ListOffsetsResponse(Message):
    """Versions 1 to 11."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    STABLE_MAX: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[ListOffsetsTopicResponse] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[ListOffsetsTopicResponse] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> ListOffsetsResponse:
        if version < 1 or version > 11:
            bad_version("ListOffsetsResponse", version)
        made = ListOffsetsResponse(
            r.i32() if version >= 2 else 0,
            [ListOffsetsTopicResponse.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 6
            else [ListOffsetsTopicResponse.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 11:
            bad_version("ListOffsetsResponse", version)
        if version >= 2:
            w.i32(self.throttle_time_ms)
        if version >= 6:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 6:
            w.uvarint(0)
