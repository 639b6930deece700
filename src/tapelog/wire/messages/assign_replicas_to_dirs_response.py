"""AssignReplicasToDirsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of AssignReplicasToDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.uvarint(0)


class TopicData(Message):
    """Part of AssignReplicasToDirsResponse."""

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
            [PartitionData.decode(r, version) for _ in range(r.compact_array(7))],
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
    """Part of AssignReplicasToDirsResponse."""

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


class AssignReplicasToDirsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "directories",
    )

    def __init__(
        self, throttle_time_ms: int = 0, error_code: int = 0, directories: list[DirectoryData] = EMPTY
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.directories: list[DirectoryData] = [] if directories is EMPTY else directories

    @staticmethod
    def decode(r: Reader, version: int) -> AssignReplicasToDirsResponse:
        if version != 0:
            bad_version("AssignReplicasToDirsResponse", version)
        made = AssignReplicasToDirsResponse(
            r.i32(),
            r.i16(),
            [DirectoryData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AssignReplicasToDirsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_array(len(self.directories))
        for directories_item in self.directories:
            directories_item.encode(w, version)
        w.uvarint(0)
