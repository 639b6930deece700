"""AlterPartitionReassignmentsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ReassignablePartition(Message):
    """Part of AlterPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replicas",
    )

    def __init__(self, partition_index: int = 0, replicas: list[int] | None = None) -> None:
        self.partition_index: int = partition_index
        self.replicas: list[int] | None = replicas

    @staticmethod
    def decode(r: Reader, version: int) -> ReassignablePartition:
        made = ReassignablePartition(
            r.i32(),
            None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        if self.replicas is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.replicas))
            w.i32_items(self.replicas)
        w.uvarint(0)


class ReassignableTopic(Message):
    """Part of AlterPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[ReassignablePartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[ReassignablePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ReassignableTopic:
        made = ReassignableTopic(
            r.compact_string(),
            [ReassignablePartition.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class AlterPartitionReassignmentsRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "allow_replication_factor_change",
        "topics",
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = EMPTY,
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.topics: list[ReassignableTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AlterPartitionReassignmentsRequest:
        if version < 0 or version > 1:
            bad_version("AlterPartitionReassignmentsRequest", version)
        made = AlterPartitionReassignmentsRequest(
            r.i32(),
            r.boolean() if version >= 1 else True,
            [ReassignableTopic.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("AlterPartitionReassignmentsRequest", version)
        w.i32(self.timeout_ms)
        if version >= 1:
            w.boolean(self.allow_replication_factor_change)
        else:
            if not self.allow_replication_factor_change:
                lost_field("AlterPartitionReassignmentsRequest.allow_replication_factor_change", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
