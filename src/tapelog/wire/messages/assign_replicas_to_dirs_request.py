"""AssignReplicasToDirsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of AssignReplicasToDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0) -> None:
        self.partition_index: int = partition_index

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.uvarint(0)


class TopicData(Message):
    """Part of AssignReplicasToDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicData:
        made = TopicData(
            r.uuid(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(5))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class DirectoryData(Message):
    """Part of AssignReplicasToDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "id",
        "topics",
    )

    def __init__(self, id: bytes = ZERO_UUID, topics: list[TopicData] = EMPTY) -> None:
        self.id: bytes = id
        self.topics: list[TopicData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DirectoryData:
        made = DirectoryData(
            r.uuid(),
            [TopicData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)


class AssignReplicasToDirsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "directories",
    )

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, directories: list[DirectoryData] = EMPTY) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.directories: list[DirectoryData] = [] if directories is EMPTY else directories

    @staticmethod
    def decode(r: Reader, version: int) -> AssignReplicasToDirsRequest:
        if version != 0:
            bad_version("AssignReplicasToDirsRequest", version)
        made = AssignReplicasToDirsRequest(
            r.i32(),
            r.i64(),
            [DirectoryData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AssignReplicasToDirsRequest", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.compact_array(len(self.directories))
        for directories_item in self.directories:
            directories_item.encode(w, version)
        w.uvarint(0)
