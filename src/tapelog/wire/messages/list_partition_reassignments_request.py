"""ListPartitionReassignmentsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListPartitionReassignmentsTopics(Message):
    """Part of ListPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )

    def __init__(self, name: str = "", partition_indexes: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes

    @staticmethod
    def decode(r: Reader, version: int) -> ListPartitionReassignmentsTopics:
        made = ListPartitionReassignmentsTopics(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partition_indexes))
        w.i32_items(self.partition_indexes)
        w.uvarint(0)


class ListPartitionReassignmentsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "topics",
    )

    def __init__(self, timeout_ms: int = 60000, topics: list[ListPartitionReassignmentsTopics] | None = None) -> None:
        self.timeout_ms: int = timeout_ms
        self.topics: list[ListPartitionReassignmentsTopics] | None = topics

    @staticmethod
    def decode(r: Reader, version: int) -> ListPartitionReassignmentsRequest:
        if version != 0:
            bad_version("ListPartitionReassignmentsRequest", version)
        made = ListPartitionReassignmentsRequest(
            r.i32(),
            None
            if (n := r.compact_nullable_array(3)) < 0
            else [ListPartitionReassignmentsTopics.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ListPartitionReassignmentsRequest", version)
        w.i32(self.timeout_ms)
        if self.topics is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.uvarint(0)
