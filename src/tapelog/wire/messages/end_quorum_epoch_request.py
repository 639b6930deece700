"""EndQuorumEpochRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class ReplicaInfo(Message):
    """Part of EndQuorumEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "candidate_id",
        "candidate_directory_id",
    )

    def __init__(self, candidate_id: int = 0, candidate_directory_id: bytes = ZERO_UUID) -> None:
        self.candidate_id: int = candidate_id
        self.candidate_directory_id: bytes = candidate_directory_id

    @staticmethod
    def decode(r: Reader, version: int) -> ReplicaInfo:
        made = ReplicaInfo(
            r.i32(),
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.candidate_id)
        w.uuid(self.candidate_directory_id)
        w.uvarint(0)


class PartitionData(Message):
    """Part of EndQuorumEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "leader_id",
        "leader_epoch",
        "preferred_successors",
        "preferred_candidates",
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = EMPTY,
        preferred_candidates: list[ReplicaInfo] = EMPTY,
    ) -> None:
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.preferred_successors: list[int] = [] if preferred_successors is EMPTY else preferred_successors
        self.preferred_candidates: list[ReplicaInfo] = [] if preferred_candidates is EMPTY else preferred_candidates

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i32(),
            r.i32(),
            [] if version >= 1 else r.i32_items(r.array(4)),
            [ReplicaInfo.decode(r, version) for _ in range(r.compact_array(21))] if version >= 1 else [],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        if version >= 1:
            w.compact_array(len(self.preferred_candidates))
            for preferred_candidates_item in self.preferred_candidates:
                preferred_candidates_item.encode(w, version)
        else:
            w.array(len(self.preferred_successors))
            w.i32_items(self.preferred_successors)
        if version >= 1:
            w.uvarint(0)


class TopicData(Message):
    """Part of EndQuorumEpochRequest."""

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
            [PartitionData.decode(r, version) for _ in range(r.compact_array(14))]
            if version >= 1
            else [PartitionData.decode(r, version) for _ in range(r.array(14))],
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
    """Part of EndQuorumEpochRequest."""

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


class EndQuorumEpochRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "topics",
        "leader_endpoints",
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[TopicData] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.topics: list[TopicData] = [] if topics is EMPTY else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is EMPTY else leader_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> EndQuorumEpochRequest:
        if version < 0 or version > 1:
            bad_version("EndQuorumEpochRequest", version)
        made = EndQuorumEpochRequest(
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
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
            bad_version("EndQuorumEpochRequest", version)
        if version >= 1:
            w.compact_nullable_string(self.cluster_id)
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
