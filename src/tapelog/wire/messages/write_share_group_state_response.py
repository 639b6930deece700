"""WriteShareGroupStateResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionResult(Message):
    """Part of WriteShareGroupStateResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "error_code",
        "error_message",
    )

    def __init__(self, partition: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionResult:
        made = PartitionResult(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class WriteStateResult(Message):
    """Part of WriteShareGroupStateResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionResult] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> WriteStateResult:
        made = WriteStateResult(
            r.uuid(),
            [PartitionResult.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class WriteShareGroupStateResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)

    def __init__(self, results: list[WriteStateResult] = EMPTY) -> None:
        self.results: list[WriteStateResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> WriteShareGroupStateResponse:
        if version < 0 or version > 1:
            bad_version("WriteShareGroupStateResponse", version)
        made = WriteShareGroupStateResponse(
            [WriteStateResult.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("WriteShareGroupStateResponse", version)
        w.compact_array(len(self.results))
        for results_item in self.results:
            results_item.encode(w, version)
        w.uvarint(0)
