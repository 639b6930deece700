"""AlterPartitionRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class BrokerState(Message):
    """Part of AlterPartitionRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
    )

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerState:
        made = BrokerState(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.uvarint(0)


class PartitionData(Message):
    """Part of AlterPartitionRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = EMPTY,
        new_isr_with_epochs: list[BrokerState] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.leader_epoch: int = leader_epoch
        self.new_isr: list[int] = [] if new_isr is EMPTY else new_isr
        self.new_isr_with_epochs: list[BrokerState] = [] if new_isr_with_epochs is EMPTY else new_isr_with_epochs
        self.leader_recovery_state: int = leader_recovery_state
        self.partition_epoch: int = partition_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i32(),
            [] if version >= 3 else r.i32_items(r.compact_array(4)),
            [BrokerState.decode(r, version) for _ in range(r.compact_array(13))] if version >= 3 else [],
            r.i8(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i32(self.leader_epoch)
        if version >= 3:
            if self.new_isr:
                lost_field("PartitionData.new_isr", version)
            w.compact_array(len(self.new_isr_with_epochs))
            for new_isr_with_epochs_item in self.new_isr_with_epochs:
                new_isr_with_epochs_item.encode(w, version)
        else:
            w.compact_array(len(self.new_isr))
            w.i32_items(self.new_isr)
            if self.new_isr_with_epochs:
                lost_field("PartitionData.new_isr_with_epochs", version)
        w.i8(self.leader_recovery_state)
        w.i32(self.partition_epoch)
        w.uvarint(0)


class TopicData(Message):
    """Part of AlterPartitionRequest."""

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
            [PartitionData.decode(r, version) for _ in range(r.compact_array(15))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterPartitionRequest(Message):
    """Versions 2 to 3."""

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "topics",
    )

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, topics: list[TopicData] = EMPTY) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.topics: list[TopicData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AlterPartitionRequest:
        if version < 2 or version > 3:
            bad_version("AlterPartitionRequest", version)
        made = AlterPartitionRequest(
            r.i32(),
            r.i64(),
            [TopicData.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 3:
            bad_version("AlterPartitionRequest", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
