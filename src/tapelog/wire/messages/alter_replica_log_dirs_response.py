"""AlterReplicaLogDirsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterReplicaLogDirPartitionResult(Message):
    """Part of AlterReplicaLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDirPartitionResult:
        made = AlterReplicaLogDirPartitionResult(
            r.i32(),
            r.i16(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        if version >= 2:
            w.uvarint(0)


class AlterReplicaLogDirTopicResult(Message):
    """Part of AlterReplicaLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_name: str = "", partitions: list[AlterReplicaLogDirPartitionResult] = EMPTY) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[AlterReplicaLogDirPartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDirTopicResult:
        made = AlterReplicaLogDirTopicResult(
            r.compact_string() if version >= 2 else r.string(),
            [AlterReplicaLogDirPartitionResult.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 2
            else [AlterReplicaLogDirPartitionResult.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.topic_name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.topic_name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class AlterReplicaLogDirsResponse(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )

    def __init__(self, throttle_time_ms: int = 0, results: list[AlterReplicaLogDirTopicResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AlterReplicaLogDirTopicResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDirsResponse:
        if version < 1 or version > 2:
            bad_version("AlterReplicaLogDirsResponse", version)
        made = AlterReplicaLogDirsResponse(
            r.i32(),
            [AlterReplicaLogDirTopicResult.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [AlterReplicaLogDirTopicResult.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("AlterReplicaLogDirsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.compact_array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        else:
            w.array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
