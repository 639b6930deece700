"""OffsetCommitRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class OffsetCommitRequestPartition(Message):
    """Part of OffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.committed_metadata: str | None = committed_metadata

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitRequestPartition:
        made = OffsetCommitRequestPartition(
            r.i32(),
            r.i64(),
            r.i32() if version >= 6 else -1,
            r.compact_nullable_string() if version >= 8 else r.nullable_string(),
        )
        if version >= 8:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.committed_offset)
        if version >= 6:
            w.i32(self.committed_leader_epoch)
        if version >= 8:
            w.compact_nullable_string(self.committed_metadata)
        else:
            w.nullable_string(self.committed_metadata)
        if version >= 8:
            w.uvarint(0)


class OffsetCommitRequestTopic(Message):
    """Part of OffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, partitions: list[OffsetCommitRequestPartition] = EMPTY
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetCommitRequestPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitRequestTopic:
        made = OffsetCommitRequestTopic(
            "" if version >= 10 else r.compact_string() if version >= 8 else r.string(),
            r.uuid() if version >= 10 else ZERO_UUID,
            [OffsetCommitRequestPartition.decode(r, version) for _ in range(r.compact_array(14))]
            if version >= 8
            else [OffsetCommitRequestPartition.decode(r, version) for _ in range(r.array(14))],
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


class OffsetCommitRequest(Message):
    """Versions 2 to 10."""

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    STABLE_MAX: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = EMPTY,
    ) -> None:
        self.group_id: str = group_id
        self.generation_id_or_member_epoch: int = generation_id_or_member_epoch
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.retention_time_ms: int = retention_time_ms
        self.topics: list[OffsetCommitRequestTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitRequest:
        if version < 2 or version > 10:
            bad_version("OffsetCommitRequest", version)
        made = OffsetCommitRequest(
            r.compact_string() if version >= 8 else r.string(),
            r.i32(),
            r.compact_string() if version >= 8 else r.string(),
            r.compact_nullable_string() if version >= 8 else r.nullable_string() if version >= 7 else None,
            -1 if version >= 5 else r.i64(),
            [OffsetCommitRequestTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 8
            else [OffsetCommitRequestTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 8:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 10:
            bad_version("OffsetCommitRequest", version)
        if version >= 8:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        w.i32(self.generation_id_or_member_epoch)
        if version >= 8:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 8:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 7:
            w.nullable_string(self.group_instance_id)
        else:
            if self.group_instance_id is not None:
                lost_field("OffsetCommitRequest.group_instance_id", version)
        if version < 5:
            w.i64(self.retention_time_ms)
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
