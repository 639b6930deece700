"""DescribeTopicPartitionsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class DescribeTopicPartitionsResponsePartition(Message):
    """Part of DescribeTopicPartitionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTopicPartitionsResponsePartition:
        made = DescribeTopicPartitionsResponsePartition(
            r.i16(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
            None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n),
            None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.i32(self.partition_index)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.compact_array(len(self.replica_nodes))
        w.i32_items(self.replica_nodes)
        w.compact_array(len(self.isr_nodes))
        w.i32_items(self.isr_nodes)
        if self.eligible_leader_replicas is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.eligible_leader_replicas))
            w.i32_items(self.eligible_leader_replicas)
        if self.last_known_elr is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.last_known_elr))
            w.i32_items(self.last_known_elr)
        w.compact_array(len(self.offline_replicas))
        w.i32_items(self.offline_replicas)
        w.uvarint(0)


class DescribeTopicPartitionsResponseTopic(Message):
    """Part of DescribeTopicPartitionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.is_internal: bool = is_internal
        self.partitions: list[DescribeTopicPartitionsResponsePartition] = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations: int = topic_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTopicPartitionsResponseTopic:
        made = DescribeTopicPartitionsResponseTopic(
            r.i16(),
            r.compact_nullable_string(),
            r.uuid(),
            r.boolean(),
            [DescribeTopicPartitionsResponsePartition.decode(r, version) for _ in range(r.compact_array(20))],
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.compact_nullable_string(self.name)
        w.uuid(self.topic_id)
        w.boolean(self.is_internal)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.i32(self.topic_authorized_operations)
        w.uvarint(0)


class Cursor(Message):
    """Part of DescribeTopicPartitionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partition_index",
    )

    def __init__(self, topic_name: str = "", partition_index: int = 0) -> None:
        self.topic_name: str = topic_name
        self.partition_index: int = partition_index

    @staticmethod
    def decode(r: Reader, version: int) -> Cursor:
        made = Cursor(
            r.compact_string(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.i32(self.partition_index)
        w.uvarint(0)


class DescribeTopicPartitionsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
        "next_cursor",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponseTopic] = [] if topics is EMPTY else topics
        self.next_cursor: Cursor | None = next_cursor

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTopicPartitionsResponse:
        if version != 0:
            bad_version("DescribeTopicPartitionsResponse", version)
        made = DescribeTopicPartitionsResponse(
            r.i32(),
            [DescribeTopicPartitionsResponseTopic.decode(r, version) for _ in range(r.compact_array(26))],
            Cursor.decode(r, version) if r.present() else None,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeTopicPartitionsResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        if self.next_cursor is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.next_cursor.encode(w, version)
        w.uvarint(0)
