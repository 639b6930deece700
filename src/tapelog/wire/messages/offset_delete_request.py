"""OffsetDeleteRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class OffsetDeleteRequestPartition(Message):
    """Part of OffsetDeleteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0) -> None:
        self.partition_index: int = partition_index

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteRequestPartition:
        return OffsetDeleteRequestPartition(
            r.i32(),
        )

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)


class OffsetDeleteRequestTopic(Message):
    """Part of OffsetDeleteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[OffsetDeleteRequestPartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[OffsetDeleteRequestPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteRequestTopic:
        return OffsetDeleteRequestTopic(
            r.string(),
            [OffsetDeleteRequestPartition.decode(r, version) for _ in range(r.array(4))],
        )

    def encode(self, w: Writer, version: int) -> None:
        w.string(self.name)
        w.array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)


class OffsetDeleteRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[OffsetDeleteRequestTopic] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetDeleteRequestTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetDeleteRequest:
        if version != 0:
            bad_version("OffsetDeleteRequest", version)
        return OffsetDeleteRequest(
            r.string(),
            [OffsetDeleteRequestTopic.decode(r, version) for _ in range(r.array(6))],
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("OffsetDeleteRequest", version)
        w.string(self.group_id)
        w.array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
