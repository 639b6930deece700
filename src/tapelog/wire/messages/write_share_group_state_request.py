"""WriteShareGroupStateRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class StateBatch(Message):
    """Part of WriteShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "first_offset",
        "last_offset",
        "delivery_state",
        "delivery_count",
    )

    def __init__(
        self, first_offset: int = 0, last_offset: int = 0, delivery_state: int = 0, delivery_count: int = 0
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_state: int = delivery_state
        self.delivery_count: int = delivery_count

    @staticmethod
    def decode(r: Reader, version: int) -> StateBatch:
        made = StateBatch(
            r.i64(),
            r.i64(),
            r.i8(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.first_offset)
        w.i64(self.last_offset)
        w.i8(self.delivery_state)
        w.i16(self.delivery_count)
        w.uvarint(0)


class PartitionData(Message):
    """Part of WriteShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = EMPTY,
    ) -> None:
        self.partition: int = partition
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.state_batches: list[StateBatch] = [] if state_batches is EMPTY else state_batches

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i32(),
            r.i32(),
            r.i64(),
            r.i32() if version >= 1 else -1,
            [StateBatch.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i32(self.state_epoch)
        w.i32(self.leader_epoch)
        w.i64(self.start_offset)
        if version >= 1:
            w.i32(self.delivery_complete_count)
        w.compact_array(len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.encode(w, version)
        w.uvarint(0)


class WriteStateData(Message):
    """Part of WriteShareGroupStateRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> WriteStateData:
        made = WriteStateData(
            r.uuid(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(22))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class WriteShareGroupStateRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[WriteStateData] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[WriteStateData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> WriteShareGroupStateRequest:
        if version < 0 or version > 1:
            bad_version("WriteShareGroupStateRequest", version)
        made = WriteShareGroupStateRequest(
            r.compact_string(),
            [WriteStateData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("WriteShareGroupStateRequest", version)
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
