"""OffsetForLeaderEpochRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class OffsetForLeaderPartition(Message):
    """Part of OffsetForLeaderEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",
        "leader_epoch",
    )

    def __init__(self, partition: int = 0, current_leader_epoch: int = -1, leader_epoch: int = 0) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetForLeaderPartition:
        made = OffsetForLeaderPartition(
            r.i32(),
            r.i32(),
            r.i32(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i32(self.current_leader_epoch)
        w.i32(self.leader_epoch)
        if version >= 4:
            w.uvarint(0)


class OffsetForLeaderTopic(Message):
    """Part of OffsetForLeaderEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[OffsetForLeaderPartition] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[OffsetForLeaderPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetForLeaderTopic:
        made = OffsetForLeaderTopic(
            r.compact_string() if version >= 4 else r.string(),
            [OffsetForLeaderPartition.decode(r, version) for _ in range(r.compact_array(12))]
            if version >= 4
            else [OffsetForLeaderPartition.decode(r, version) for _ in range(r.array(12))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.topic)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.topic)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)


class OffsetForLeaderEpochRequest(Message):
    """Versions 2 to 4."""

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "topics",
    )

    def __init__(self, replica_id: int = -2, topics: list[OffsetForLeaderTopic] = EMPTY) -> None:
        self.replica_id: int = replica_id
        self.topics: list[OffsetForLeaderTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetForLeaderEpochRequest:
        if version < 2 or version > 4:
            bad_version("OffsetForLeaderEpochRequest", version)
        made = OffsetForLeaderEpochRequest(
            r.i32() if version >= 3 else -2,
            [OffsetForLeaderTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 4
            else [OffsetForLeaderTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 4:
            bad_version("OffsetForLeaderEpochRequest", version)
        if version >= 3:
            w.i32(self.replica_id)
        if version >= 4:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
