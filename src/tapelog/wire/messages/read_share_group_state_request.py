"""ReadShareGroupStateRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of ReadShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "leader_epoch",
    )

    def __init__(self, partition: int = 0, leader_epoch: int = 0) -> None:
        self.partition: int = partition
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i32(self.leader_epoch)
        w.uvarint(0)


class ReadStateData(Message):
    """Part of ReadShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ReadStateData:
        made = ReadStateData(
            r.uuid(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(9))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ReadShareGroupStateRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[ReadStateData] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[ReadStateData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> ReadShareGroupStateRequest:
        if version != 0:
            bad_version("ReadShareGroupStateRequest", version)
        made = ReadShareGroupStateRequest(
            r.compact_string(),
            [ReadStateData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ReadShareGroupStateRequest", version)
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
