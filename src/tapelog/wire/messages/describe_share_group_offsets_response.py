"""DescribeShareGroupOffsetsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class DescribeShareGroupOffsetsResponsePartition(Message):
    """Part of DescribeShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "start_offset",
        "leader_epoch",
        "lag",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.start_offset: int = start_offset
        self.leader_epoch: int = leader_epoch
        self.lag: int = lag
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsResponsePartition:
        made = DescribeShareGroupOffsetsResponsePartition(
            r.i32(),
            r.i64(),
            r.i32(),
            r.i64() if version >= 1 else -1,
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.start_offset)
        w.i32(self.leader_epoch)
        if version >= 1:
            w.i64(self.lag)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class DescribeShareGroupOffsetsResponseTopic(Message):
    """Part of DescribeShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = EMPTY,
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: bytes = topic_id
        self.partitions: list[DescribeShareGroupOffsetsResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsResponseTopic:
        made = DescribeShareGroupOffsetsResponseTopic(
            r.compact_string(),
            r.uuid(),
            [DescribeShareGroupOffsetsResponsePartition.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class DescribeShareGroupOffsetsResponseGroup(Message):
    """Part of DescribeShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = EMPTY,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[DescribeShareGroupOffsetsResponseTopic] = [] if topics is EMPTY else topics
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsResponseGroup:
        made = DescribeShareGroupOffsetsResponseGroup(
            r.compact_string(),
            [DescribeShareGroupOffsetsResponseTopic.decode(r, version) for _ in range(r.compact_array(19))],
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class DescribeShareGroupOffsetsResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "groups",
    )

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribeShareGroupOffsetsResponseGroup] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribeShareGroupOffsetsResponseGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsResponse:
        if version < 0 or version > 1:
            bad_version("DescribeShareGroupOffsetsResponse", version)
        made = DescribeShareGroupOffsetsResponse(
            r.i32(),
            [DescribeShareGroupOffsetsResponseGroup.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("DescribeShareGroupOffsetsResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.groups))
        for groups_item in self.groups:
            groups_item.encode(w, version)
        w.uvarint(0)
