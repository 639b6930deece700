"""AlterShareGroupOffsetsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class AlterShareGroupOffsetsResponsePartition(Message):
    """Part of AlterShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsResponsePartition:
        made = AlterShareGroupOffsetsResponsePartition(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class AlterShareGroupOffsetsResponseTopic(Message):
    """Part of AlterShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] = EMPTY,
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: bytes = topic_id
        self.partitions: list[AlterShareGroupOffsetsResponsePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsResponseTopic:
        made = AlterShareGroupOffsetsResponseTopic(
            r.compact_string(),
            r.uuid(),
            [AlterShareGroupOffsetsResponsePartition.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterShareGroupOffsetsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: list[AlterShareGroupOffsetsResponseTopic] = [] if responses is EMPTY else responses

    @staticmethod
    def decode(r: Reader, version: int) -> AlterShareGroupOffsetsResponse:
        if version != 0:
            bad_version("AlterShareGroupOffsetsResponse", version)
        made = AlterShareGroupOffsetsResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [AlterShareGroupOffsetsResponseTopic.decode(r, version) for _ in range(r.compact_array(19))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AlterShareGroupOffsetsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.responses))
        for responses_item in self.responses:
            responses_item.encode(w, version)
        w.uvarint(0)
