"""TxnOffsetCommitRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TxnOffsetCommitRequestPartition(Message):
    """Part of TxnOffsetCommitRequest."""

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
    def decode(r: Reader, version: int) -> TxnOffsetCommitRequestPartition:
        made = TxnOffsetCommitRequestPartition(
            r.i32(),
            r.i64(),
            r.i32() if version >= 2 else -1,
            r.compact_nullable_string() if version >= 3 else r.nullable_string(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.committed_offset)
        if version >= 2:
            w.i32(self.committed_leader_epoch)
        if version >= 3:
            w.compact_nullable_string(self.committed_metadata)
        else:
            w.nullable_string(self.committed_metadata)
        if version >= 3:
            w.uvarint(0)


class TxnOffsetCommitRequestTopic(Message):
    """Part of TxnOffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[TxnOffsetCommitRequestPartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[TxnOffsetCommitRequestPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TxnOffsetCommitRequestTopic:
        made = TxnOffsetCommitRequestTopic(
            r.compact_string() if version >= 3 else r.string(),
            [TxnOffsetCommitRequestPartition.decode(r, version) for _ in range(r.compact_array(14))]
            if version >= 3
            else [TxnOffsetCommitRequestPartition.decode(r, version) for _ in range(r.array(14))],
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


class TxnOffsetCommitRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = EMPTY,
    ) -> None:
        self.transactional_id: str = transactional_id
        self.group_id: str = group_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.topics: list[TxnOffsetCommitRequestTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> TxnOffsetCommitRequest:
        if version < 0 or version > 5:
            bad_version("TxnOffsetCommitRequest", version)
        made = TxnOffsetCommitRequest(
            r.compact_string() if version >= 3 else r.string(),
            r.compact_string() if version >= 3 else r.string(),
            r.i64(),
            r.i16(),
            r.i32() if version >= 3 else -1,
            r.compact_string() if version >= 3 else "",
            r.compact_nullable_string() if version >= 3 else None,
            [TxnOffsetCommitRequestTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 3
            else [TxnOffsetCommitRequestTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("TxnOffsetCommitRequest", version)
        if version >= 3:
            w.compact_string(self.transactional_id)
            w.compact_string(self.group_id)
        else:
            w.string(self.transactional_id)
            w.string(self.group_id)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        if version >= 3:
            w.i32(self.generation_id)
            w.compact_string(self.member_id)
            w.compact_nullable_string(self.group_instance_id)
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            if self.generation_id != -1:
                lost_field("TxnOffsetCommitRequest.generation_id", version)
            if self.member_id != "":
                lost_field("TxnOffsetCommitRequest.member_id", version)
            if self.group_instance_id is not None:
                lost_field("TxnOffsetCommitRequest.group_instance_id", version)
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)
