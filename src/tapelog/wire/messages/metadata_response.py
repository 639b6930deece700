"""MetadataResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class MetadataResponseBroker(Message):
    """Part of MetadataResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "node_id",
        "host",
        "port",
        "rack",
    )

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataResponseBroker:
        made = MetadataResponseBroker(
            r.i32(),
            r.compact_string() if version >= 9 else r.string(),
            r.i32(),
            r.compact_nullable_string() if version >= 9 else r.nullable_string() if version >= 1 else None,
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.node_id)
        if version >= 9:
            w.compact_string(self.host)
        else:
            w.string(self.host)
        w.i32(self.port)
        if version >= 9:
            w.compact_nullable_string(self.rack)
        elif version >= 1:
            w.nullable_string(self.rack)
        if version >= 9:
            w.uvarint(0)


class MetadataResponsePartition(Message):
    """Part of MetadataResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
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
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataResponsePartition:
        made = MetadataResponsePartition(
            r.i16(),
            r.i32(),
            r.i32(),
            r.i32() if version >= 7 else -1,
            r.i32_items(r.compact_array(4)) if version >= 9 else r.i32_items(r.array(4)),
            r.i32_items(r.compact_array(4)) if version >= 9 else r.i32_items(r.array(4)),
            r.i32_items(r.compact_array(4)) if version >= 9 else r.i32_items(r.array(4)) if version >= 5 else [],
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.i32(self.partition_index)
        w.i32(self.leader_id)
        if version >= 7:
            w.i32(self.leader_epoch)
        if version >= 9:
            w.compact_array(len(self.replica_nodes))
            w.i32_items(self.replica_nodes)
            w.compact_array(len(self.isr_nodes))
            w.i32_items(self.isr_nodes)
        else:
            w.array(len(self.replica_nodes))
            w.i32_items(self.replica_nodes)
            w.array(len(self.isr_nodes))
            w.i32_items(self.isr_nodes)
        if version >= 9:
            w.compact_array(len(self.offline_replicas))
            w.i32_items(self.offline_replicas)
        elif version >= 5:
            w.array(len(self.offline_replicas))
            w.i32_items(self.offline_replicas)
        if version >= 9:
            w.uvarint(0)


class MetadataResponseTopic(Message):
    """Part of MetadataResponse."""

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
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.is_internal: bool = is_internal
        self.partitions: list[MetadataResponsePartition] = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations: int = topic_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataResponseTopic:
        made = MetadataResponseTopic(
            r.i16(),
            r.compact_nullable_string() if version >= 12 else r.compact_string() if version >= 9 else r.string(),
            r.uuid() if version >= 10 else ZERO_UUID,
            r.boolean() if version >= 1 else False,
            [MetadataResponsePartition.decode(r, version) for _ in range(r.compact_array(18))]
            if version >= 9
            else [MetadataResponsePartition.decode(r, version) for _ in range(r.array(18))],
            r.i32() if version >= 8 else -2147483648,
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 12:
            w.compact_nullable_string(self.name)
        elif version >= 9:
            w.compact_string(not_null(self.name, "name"))
        else:
            w.string(not_null(self.name, "name"))
        if version >= 10:
            w.uuid(self.topic_id)
        if version >= 1:
            w.boolean(self.is_internal)
        if version >= 9:
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 8:
            w.i32(self.topic_authorized_operations)
        else:
            if self.topic_authorized_operations != -2147483648:
                lost_field("MetadataResponseTopic.topic_authorized_operations", version)
        if version >= 9:
            w.uvarint(0)


class MetadataResponse(Message):
    """Versions 0 to 13."""

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    STABLE_MAX: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.brokers: list[MetadataResponseBroker] = [] if brokers is EMPTY else brokers
        self.cluster_id: str | None = cluster_id
        self.controller_id: int = controller_id
        self.topics: list[MetadataResponseTopic] = [] if topics is EMPTY else topics
        self.cluster_authorized_operations: int = cluster_authorized_operations
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataResponse:
        if version < 0 or version > 13:
            bad_version("MetadataResponse", version)
        made = MetadataResponse(
            r.i32() if version >= 3 else 0,
            [MetadataResponseBroker.decode(r, version) for _ in range(r.compact_array(10))]
            if version >= 9
            else [MetadataResponseBroker.decode(r, version) for _ in range(r.array(10))],
            r.compact_nullable_string() if version >= 9 else r.nullable_string() if version >= 2 else None,
            r.i32() if version >= 1 else -1,
            [MetadataResponseTopic.decode(r, version) for _ in range(r.compact_array(8))]
            if version >= 9
            else [MetadataResponseTopic.decode(r, version) for _ in range(r.array(8))],
            -2147483648 if version >= 11 else r.i32() if version >= 8 else -2147483648,
            r.i16() if version >= 13 else 0,
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 13:
            bad_version("MetadataResponse", version)
        if version >= 3:
            w.i32(self.throttle_time_ms)
        if version >= 9:
            w.compact_array(len(self.brokers))
            for brokers_item in self.brokers:
                brokers_item.encode(w, version)
        else:
            w.array(len(self.brokers))
            for brokers_item in self.brokers:
                brokers_item.encode(w, version)
        if version >= 9:
            w.compact_nullable_string(self.cluster_id)
        elif version >= 2:
            w.nullable_string(self.cluster_id)
        if version >= 1:
            w.i32(self.controller_id)
        if version >= 9:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 11:
            if self.cluster_authorized_operations != -2147483648:
                lost_field("MetadataResponse.cluster_authorized_operations", version)
        elif version >= 8:
            w.i32(self.cluster_authorized_operations)
        else:
            if self.cluster_authorized_operations != -2147483648:
                lost_field("MetadataResponse.cluster_authorized_operations", version)
        if version >= 13:
            w.i16(self.error_code)
        if version >= 9:
            w.uvarint(0)
