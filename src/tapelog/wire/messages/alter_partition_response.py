"""AlterPartitionResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of AlterPartitionResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.isr: list[int] = [] if isr is EMPTY else isr
        self.leader_recovery_state: int = leader_recovery_state
        self.partition_epoch: int = partition_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
            r.i32(),
            r.i32(),
            r.i32_items(r.compact_array(4)),
            r.i8(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.compact_array(len(self.isr))
        w.i32_items(self.isr)
        w.i8(self.leader_recovery_state)
        w.i32(self.partition_epoch)
        w.uvarint(0)


class TopicData(Message):
    """Part of AlterPartitionResponse."""

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
            [PartitionData.decode(r, version) for _ in range(r.compact_array(21))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterPartitionResponse(Message):
    """Versions 2 to 3."""

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, topics: list[TopicData] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.topics: list[TopicData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AlterPartitionResponse:
        if version < 2 or version > 3:
            bad_version("AlterPartitionResponse", version)
        made = AlterPartitionResponse(
            r.i32(),
            r.i16(),
            [TopicData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 3:
            bad_version("AlterPartitionResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
