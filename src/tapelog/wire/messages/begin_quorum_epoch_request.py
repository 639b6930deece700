"""BeginQuorumEpochRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of BeginQuorumEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "voter_directory_id",
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self, partition_index: int = 0, voter_directory_id: bytes = ZERO_UUID, leader_id: int = 0, leader_epoch: int = 0
    ) -> None:
        self.partition_index: int = partition_index
        self.voter_directory_id: bytes = voter_directory_id
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.uuid() if version >= 1 else ZERO_UUID,
            r.i32(),
            r.i32(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        if version >= 1:
            w.uuid(self.voter_directory_id)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        if version >= 1:
            w.uvarint(0)


class TopicData(Message):
    """Part of BeginQuorumEpochRequest."""

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
            r.compact_string() if version >= 1 else r.string(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(12))]
            if version >= 1
            else [PartitionData.decode(r, version) for _ in range(r.array(12))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_string(self.topic_name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.topic_name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)


class LeaderEndpoint(Message):
    """Part of BeginQuorumEpochRequest."""

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
    def decode(r: Reader, version: int) -> LeaderEndpoint:
        made = LeaderEndpoint(
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


class BeginQuorumEpochRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 53
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "voter_id",
        "topics",
        "leader_endpoints",
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.voter_id: int = voter_id
        self.topics: list[TopicData] = [] if topics is EMPTY else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is EMPTY else leader_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> BeginQuorumEpochRequest:
        if version < 0 or version > 1:
            bad_version("BeginQuorumEpochRequest", version)
        made = BeginQuorumEpochRequest(
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
            r.i32() if version >= 1 else -1,
            [TopicData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [TopicData.decode(r, version) for _ in range(r.array(3))],
            [LeaderEndpoint.decode(r, version) for _ in range(r.compact_array(5))] if version >= 1 else [],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("BeginQuorumEpochRequest", version)
        if version >= 1:
            w.compact_nullable_string(self.cluster_id)
            w.i32(self.voter_id)
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
            w.compact_array(len(self.leader_endpoints))
            for leader_endpoints_item in self.leader_endpoints:
                leader_endpoints_item.encode(w, version)
        else:
            w.nullable_string(self.cluster_id)
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)
