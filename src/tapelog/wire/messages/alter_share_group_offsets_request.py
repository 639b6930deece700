"""AlterShareGroupOffsetsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterShareGroupOffsetsRequestPartition(Message):
    """Part of AlterShareGroupOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "start_offset",
    )

    def __init__(self, partition_index: int = 0, start_offset: int = 0) -> None:
        self.partition_index: int = partition_index
        self.start_offset: int = start_offset

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsRequestPartition:
        made = AlterShareGroupOffsetsRequestPartition(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.start_offset)
        w.uvarint(0)


class AlterShareGroupOffsetsRequestTopic(Message):
    """Part of AlterShareGroupOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_name: str = "", partitions: list[AlterShareGroupOffsetsRequestPartition] = EMPTY) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[AlterShareGroupOffsetsRequestPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsRequestTopic:
        made = AlterShareGroupOffsetsRequestTopic(
            r.compact_string(),
            [AlterShareGroupOffsetsRequestPartition.decode(r, version) for _ in range(r.compact_array(13))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterShareGroupOffsetsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[AlterShareGroupOffsetsRequestTopic] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[AlterShareGroupOffsetsRequestTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsRequest:
        if version != 0:
            bad_version("AlterShareGroupOffsetsRequest", version)
        made = AlterShareGroupOffsetsRequest(
            r.compact_string(),
            [AlterShareGroupOffsetsRequestTopic.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AlterShareGroupOffsetsRequest", version)
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
