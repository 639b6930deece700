"""DeleteShareGroupStateRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of DeleteShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("partition",)

    def __init__(self, partition: int = 0) -> None:
        self.partition: int = partition

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.uvarint(0)


class DeleteStateData(Message):
    """Part of DeleteShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteStateData:
        made = DeleteStateData(
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


class DeleteShareGroupStateRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[DeleteStateData] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[DeleteStateData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteShareGroupStateRequest:
        if version != 0:
            bad_version("DeleteShareGroupStateRequest", version)
        made = DeleteShareGroupStateRequest(
            r.compact_string(),
            [DeleteStateData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DeleteShareGroupStateRequest", version)
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
