"""OffsetFetchResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class OffsetFetchResponsePartition(Message):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponsePartition:
        made = OffsetFetchResponsePartition(
            r.i32(),
            r.i64(),
            r.i32() if version >= 5 else -1,
            r.compact_nullable_string() if version >= 6 else r.nullable_string(),
            r.i16(),
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.committed_offset)
        if version >= 5:
            w.i32(self.committed_leader_epoch)
        if version >= 6:
            w.compact_nullable_string(self.metadata)
        else:
            w.nullable_string(self.metadata)
        w.i16(self.error_code)
        if version >= 6:
            w.uvarint(0)


class OffsetFetchResponseTopic(Message):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[OffsetFetchResponsePartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[OffsetFetchResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponseTopic:
        made = OffsetFetchResponseTopic(
            r.compact_string() if version >= 6 else r.string(),
            [OffsetFetchResponsePartition.decode(r, version) for _ in range(r.compact_array(16))]
            if version >= 6
            else [OffsetFetchResponsePartition.decode(r, version) for _ in range(r.array(16))],
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


class OffsetFetchResponsePartitions(Message):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponsePartitions:
        made = OffsetFetchResponsePartitions(
            r.i32(),
            r.i64(),
            r.i32(),
            r.compact_nullable_string(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.committed_offset)
        w.i32(self.committed_leader_epoch)
        w.compact_nullable_string(self.metadata)
        w.i16(self.error_code)
        w.uvarint(0)


class OffsetFetchResponseTopics(Message):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, partitions: list[OffsetFetchResponsePartitions] = EMPTY
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetFetchResponsePartitions] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponseTopics:
        made = OffsetFetchResponseTopics(
            "" if version >= 10 else r.compact_string(),
            r.uuid() if version >= 10 else ZERO_UUID,
            [OffsetFetchResponsePartitions.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 10:
            w.uuid(self.topic_id)
        else:
            w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class OffsetFetchResponseGroup(Message):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
        "error_code",
    )

    def __init__(
        self, group_id: str = "", topics: list[OffsetFetchResponseTopics] = EMPTY, error_code: int = 0
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetFetchResponseTopics] = [] if topics is EMPTY else topics
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponseGroup:
        made = OffsetFetchResponseGroup(
            r.compact_string(),
            [OffsetFetchResponseTopics.decode(r, version) for _ in range(r.compact_array(3))],
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.i16(self.error_code)
        w.uvarint(0)


class OffsetFetchResponse(Message):
    """Versions 1 to 10."""

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    STABLE_MAX: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
        "error_code",
        "groups",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetFetchResponseTopic] = [] if topics is EMPTY else topics
        self.error_code: int = error_code
        self.groups: list[OffsetFetchResponseGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchResponse:
        if version < 1 or version > 10:
            bad_version("OffsetFetchResponse", version)
        made = OffsetFetchResponse(
            r.i32() if version >= 3 else 0,
            []
            if version >= 8
            else [OffsetFetchResponseTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 6
            else [OffsetFetchResponseTopic.decode(r, version) for _ in range(r.array(3))],
            0 if version >= 8 else r.i16() if version >= 2 else 0,
            [OffsetFetchResponseGroup.decode(r, version) for _ in range(r.compact_array(5))] if version >= 8 else [],
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 10:
            bad_version("OffsetFetchResponse", version)
        if version >= 3:
            w.i32(self.throttle_time_ms)
        if version >= 8:
            if self.topics:
                lost_field("OffsetFetchResponse.topics", version)
        elif version >= 6:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 8:
            pass
        elif version >= 2:
            w.i16(self.error_code)
        if version >= 8:
            w.compact_array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        else:
            if self.groups:
                lost_field("OffsetFetchResponse.groups", version)
        if version >= 6:
            w.uvarint(0)
