"""ReadShareGroupStateResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class StateBatch(Message):
    """Part of ReadShareGroupStateResponse."""

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


class PartitionResult(Message):
    """Part of ReadShareGroupStateResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "start_offset",
        "state_batches",
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = EMPTY,
    ) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.state_epoch: int = state_epoch
        self.start_offset: int = start_offset
        self.state_batches: list[StateBatch] = [] if state_batches is EMPTY else state_batches

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionResult:
        made = PartitionResult(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.i32(),
            r.i64(),
            [StateBatch.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.i32(self.state_epoch)
        w.i64(self.start_offset)
        w.compact_array(len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.encode(w, version)
        w.uvarint(0)


class ReadStateResult(Message):
    """Part of ReadShareGroupStateResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionResult] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ReadStateResult:
        made = ReadStateResult(
            r.uuid(),
            [PartitionResult.decode(r, version) for _ in range(r.compact_array(21))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ReadShareGroupStateResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)

    def __init__(self, results: list[ReadStateResult] = EMPTY) -> None:
        self.results: list[ReadStateResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> ReadShareGroupStateResponse:
        if version != 0:
            bad_version("ReadShareGroupStateResponse", version)
        made = ReadShareGroupStateResponse(
            [ReadStateResult.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ReadShareGroupStateResponse", version)
        w.compact_array(len(self.results))
        for results_item in self.results:
            results_item.encode(w, version)
        w.uvarint(0)
