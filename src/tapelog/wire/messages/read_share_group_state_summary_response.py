"""ReadShareGroupStateSummaryResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionResult(Message):
    """Part of ReadShareGroupStateSummaryResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionResult:
        made = PartitionResult(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.i32(),
            r.i32(),
            r.i64(),
            r.i32() if version >= 1 else -1,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.i32(self.state_epoch)
        w.i32(self.leader_epoch)
        w.i64(self.start_offset)
        if version >= 1:
            w.i32(self.delivery_complete_count)
        w.uvarint(0)


class ReadStateSummaryResult(Message):
    """Part of ReadShareGroupStateSummaryResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionResult] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ReadStateSummaryResult:
        made = ReadStateSummaryResult(
            r.uuid(),
            [PartitionResult.decode(r, version) for _ in range(r.compact_array(24))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ReadShareGroupStateSummaryResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)

    def __init__(self, results: list[ReadStateSummaryResult] = EMPTY) -> None:
        self.results: list[ReadStateSummaryResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> ReadShareGroupStateSummaryResponse:
        if version < 0 or version > 1:
            bad_version("ReadShareGroupStateSummaryResponse", version)
        made = ReadShareGroupStateSummaryResponse(
            [ReadStateSummaryResult.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ReadShareGroupStateSummaryResponse", version)
        w.compact_array(len(self.results))
        for results_item in self.results:
            results_item.encode(w, version)
        w.uvarint(0)
