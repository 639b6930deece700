"""DescribeProducersResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ProducerState(Message):
    """Part of DescribeProducersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.last_sequence: int = last_sequence
        self.last_timestamp: int = last_timestamp
        self.coordinator_epoch: int = coordinator_epoch
        self.current_txn_start_offset: int = current_txn_start_offset

    @staticmethod
    def decode(r: Reader, version: int) -> ProducerState:
        made = ProducerState(
            r.i64(),
            r.i32(),
            r.i32(),
            r.i64(),
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.producer_id)
        w.i32(self.producer_epoch)
        w.i32(self.last_sequence)
        w.i64(self.last_timestamp)
        w.i32(self.coordinator_epoch)
        w.i64(self.current_txn_start_offset)
        w.uvarint(0)


class PartitionResponse(Message):
    """Part of DescribeProducersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
        "active_producers",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = EMPTY,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.active_producers: list[ProducerState] = [] if active_producers is EMPTY else active_producers

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionResponse:
        made = PartitionResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [ProducerState.decode(r, version) for _ in range(r.compact_array(37))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.active_producers))
        for active_producers_item in self.active_producers:
            active_producers_item.encode(w, version)
        w.uvarint(0)


class TopicResponse(Message):
    """Part of DescribeProducersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[PartitionResponse] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[PartitionResponse] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicResponse:
        made = TopicResponse(
            r.compact_string(),
            [PartitionResponse.decode(r, version) for _ in range(r.compact_array(9))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class DescribeProducersResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[TopicResponse] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[TopicResponse] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeProducersResponse:
        if version != 0:
            bad_version("DescribeProducersResponse", version)
        made = DescribeProducersResponse(
            r.i32(),
            [TopicResponse.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeProducersResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
