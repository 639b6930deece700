"""ListPartitionReassignmentsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class OngoingPartitionReassignment(Message):
    """Part of ListPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replicas",
        "adding_replicas",
        "removing_replicas",
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
    ) -> None:
        self.partition_index: int = partition_index
        self.replicas: list[int] = [] if replicas is EMPTY else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is EMPTY else removing_replicas

    @staticmethod
    def decode(r: Reader, version: int) -> OngoingPartitionReassignment:
        made = OngoingPartitionReassignment(
            r.i32(),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.compact_array(len(self.replicas))
        w.i32_items(self.replicas)
        w.compact_array(len(self.adding_replicas))
        w.i32_items(self.adding_replicas)
        w.compact_array(len(self.removing_replicas))
        w.i32_items(self.removing_replicas)
        w.uvarint(0)


class OngoingTopicReassignment(Message):
    """Part of ListPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[OngoingPartitionReassignment] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[OngoingPartitionReassignment] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> OngoingTopicReassignment:
        made = OngoingTopicReassignment(
            r.compact_string(),
            [OngoingPartitionReassignment.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ListPartitionReassignmentsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "topics",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: list[OngoingTopicReassignment] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> ListPartitionReassignmentsResponse:
        if version != 0:
            bad_version("ListPartitionReassignmentsResponse", version)
        made = ListPartitionReassignmentsResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [OngoingTopicReassignment.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ListPartitionReassignmentsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
