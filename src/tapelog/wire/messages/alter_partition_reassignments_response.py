"""AlterPartitionReassignmentsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ReassignablePartitionResponse(Message):
    """Part of AlterPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> ReassignablePartitionResponse:
        made = ReassignablePartitionResponse(
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


class ReassignableTopicResponse(Message):
    """Part of AlterPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[ReassignablePartitionResponse] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[ReassignablePartitionResponse] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ReassignableTopicResponse:
        made = ReassignableTopicResponse(
            r.compact_string(),
            [ReassignablePartitionResponse.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterPartitionReassignmentsResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: list[ReassignableTopicResponse] = [] if responses is EMPTY else responses

    @staticmethod
    def decode(r: Reader, version: int) -> AlterPartitionReassignmentsResponse:
        if version < 0 or version > 1:
            bad_version("AlterPartitionReassignmentsResponse", version)
        made = AlterPartitionReassignmentsResponse(
            r.i32(),
            r.boolean() if version >= 1 else True,
            r.i16(),
            r.compact_nullable_string(),
            [ReassignableTopicResponse.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("AlterPartitionReassignmentsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 1:
            w.boolean(self.allow_replication_factor_change)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.responses))
        for responses_item in self.responses:
            responses_item.encode(w, version)
        w.uvarint(0)
