"""ConsumerGroupPartitionMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionMetadata(Message):
    """Part of ConsumerGroupPartitionMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "racks",
    )

    def __init__(self, partition: int = 0, racks: list[str] = EMPTY) -> None:
        self.partition: int = partition
        self.racks: list[str] = [] if racks is EMPTY else racks

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionMetadata:
        made = PartitionMetadata(
            r.i32(),
            [r.compact_string() for _ in range(r.compact_array(1))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.compact_array(len(self.racks))
        for racks_item in self.racks:
            w.compact_string(racks_item)
        w.uvarint(0)


class TopicMetadata(Message):
    """Part of ConsumerGroupPartitionMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "topic_name",
        "num_partitions",
        "partition_metadata",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = EMPTY,
    ) -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name
        self.num_partitions: int = num_partitions
        self.partition_metadata: list[PartitionMetadata] = [] if partition_metadata is EMPTY else partition_metadata

    @staticmethod
    def decode(r: Reader, version: int) -> TopicMetadata:
        made = TopicMetadata(
            r.uuid(),
            r.compact_string(),
            r.i32(),
            [PartitionMetadata.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_string(self.topic_name)
        w.i32(self.num_partitions)
        w.compact_array(len(self.partition_metadata))
        for partition_metadata_item in self.partition_metadata:
            partition_metadata_item.encode(w, version)
        w.uvarint(0)


class ConsumerGroupPartitionMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(self, topics: list[TopicMetadata] = EMPTY) -> None:
        self.topics: list[TopicMetadata] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupPartitionMetadataValue:
        if version != 0:
            bad_version("ConsumerGroupPartitionMetadataValue", version)
        made = ConsumerGroupPartitionMetadataValue(
            [TopicMetadata.decode(r, version) for _ in range(r.compact_array(23))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupPartitionMetadataValue", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
