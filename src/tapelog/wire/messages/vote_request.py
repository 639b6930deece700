"""VoteRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of VoteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index: int = partition_index
        self.replica_epoch: int = replica_epoch
        self.replica_id: int = replica_id
        self.replica_directory_id: bytes = replica_directory_id
        self.voter_directory_id: bytes = voter_directory_id
        self.last_offset_epoch: int = last_offset_epoch
        self.last_offset: int = last_offset
        self.pre_vote: bool = pre_vote

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i32(),
            r.i32(),
            r.uuid() if version >= 1 else ZERO_UUID,
            r.uuid() if version >= 1 else ZERO_UUID,
            r.i32(),
            r.i64(),
            r.boolean() if version >= 2 else False,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i32(self.replica_epoch)
        w.i32(self.replica_id)
        if version >= 1:
            w.uuid(self.replica_directory_id)
            w.uuid(self.voter_directory_id)
        w.i32(self.last_offset_epoch)
        w.i64(self.last_offset)
        if version >= 2:
            w.boolean(self.pre_vote)
        else:
            if self.pre_vote:
                lost_field("PartitionData.pre_vote", version)
        w.uvarint(0)


class TopicData(Message):
    """Part of VoteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_name: str = "", partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicData:
        made = TopicData(
            r.compact_string(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(25))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class VoteRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "voter_id",
        "topics",
    )

    def __init__(self, cluster_id: str | None = None, voter_id: int = -1, topics: list[TopicData] = EMPTY) -> None:
        self.cluster_id: str | None = cluster_id
        self.voter_id: int = voter_id
        self.topics: list[TopicData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> VoteRequest:
        if version < 0 or version > 2:
            bad_version("VoteRequest", version)
        made = VoteRequest(
            r.compact_nullable_string(),
            r.i32() if version >= 1 else -1,
            [TopicData.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("VoteRequest", version)
        w.compact_nullable_string(self.cluster_id)
        if version >= 1:
            w.i32(self.voter_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
