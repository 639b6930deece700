"""DescribeQuorumResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class ReplicaState(Message):
    """Part of DescribeQuorumResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id: int = replica_id
        self.replica_directory_id: bytes = replica_directory_id
        self.log_end_offset: int = log_end_offset
        self.last_fetch_timestamp: int = last_fetch_timestamp
        self.last_caught_up_timestamp: int = last_caught_up_timestamp

    @staticmethod
    def decode(r: Reader, version: int) -> ReplicaState:
        made = ReplicaState(
            r.i32(),
            r.uuid() if version >= 2 else ZERO_UUID,
            r.i64(),
            r.i64() if version >= 1 else -1,
            r.i64() if version >= 1 else -1,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.replica_id)
        if version >= 2:
            w.uuid(self.replica_directory_id)
        else:
            if self.replica_directory_id != ZERO_UUID:
                lost_field("ReplicaState.replica_directory_id", version)
        w.i64(self.log_end_offset)
        if version >= 1:
            w.i64(self.last_fetch_timestamp)
            w.i64(self.last_caught_up_timestamp)
        w.uvarint(0)


class PartitionData(Message):
    """Part of DescribeQuorumResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.high_watermark: int = high_watermark
        self.current_voters: list[ReplicaState] = [] if current_voters is EMPTY else current_voters
        self.observers: list[ReplicaState] = [] if observers is EMPTY else observers

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
            r.compact_nullable_string() if version >= 2 else "",
            r.i32(),
            r.i32(),
            r.i64(),
            [ReplicaState.decode(r, version) for _ in range(r.compact_array(13))],
            [ReplicaState.decode(r, version) for _ in range(r.compact_array(13))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.i64(self.high_watermark)
        w.compact_array(len(self.current_voters))
        for current_voters_item in self.current_voters:
            current_voters_item.encode(w, version)
        w.compact_array(len(self.observers))
        for observers_item in self.observers:
            observers_item.encode(w, version)
        w.uvarint(0)


class TopicData(Message):
    """Part of DescribeQuorumResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_name: str = "", partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicData:
        made = TopicData(
            r.compact_string(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(25))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class Listener(Message):
    """Part of DescribeQuorumResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "host",
        "port",
    )

    def __init__(self, name: str = "", host: str = "", port: int = 0) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> Listener:
        made = Listener(
            r.compact_string(),
            r.compact_string(),
            r.u16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_string(self.host)
        w.u16(self.port)
        w.uvarint(0)


class Node(Message):
    """Part of DescribeQuorumResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "node_id",
        "listeners",
    )

    def __init__(self, node_id: int = 0, listeners: list[Listener] = EMPTY) -> None:
        self.node_id: int = node_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners

    @staticmethod
    def decode(r: Reader, version: int) -> Node:
        made = Node(
            r.i32(),
            [Listener.decode(r, version) for _ in range(r.compact_array(5))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.node_id)
        w.compact_array(len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.encode(w, version)
        w.uvarint(0)


class DescribeQuorumResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "topics",
        "nodes",
        "unclean_elections",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[TopicData] = EMPTY,
        nodes: list[Node] = EMPTY,
        unclean_elections: int = -1,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: list[TopicData] = [] if topics is EMPTY else topics
        self.nodes: list[Node] = [] if nodes is EMPTY else nodes
        self.unclean_elections: int = unclean_elections

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeQuorumResponse:
        if version < 0 or version > 2:
            bad_version("DescribeQuorumResponse", version)
        made = DescribeQuorumResponse(
            r.i16(),
            r.compact_nullable_string() if version >= 2 else "",
            [TopicData.decode(r, version) for _ in range(r.compact_array(3))],
            [Node.decode(r, version) for _ in range(r.compact_array(6))] if version >= 2 else [],
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 10000:
                made.unclean_elections = r.i64()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DescribeQuorumResponse", version)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        if version >= 2:
            w.compact_array(len(self.nodes))
            for nodes_item in self.nodes:
                nodes_item.encode(w, version)
        else:
            if self.nodes:
                lost_field("DescribeQuorumResponse.nodes", version)
        tags = 0
        if self.unclean_elections != -1:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.unclean_elections != -1:
                field = Writer()
                field.i64(self.unclean_elections)
                w.tagged(10000, field)
