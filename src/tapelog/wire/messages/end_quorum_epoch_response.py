"""EndQuorumEpochResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class PartitionData(Message):
    """Part of EndQuorumEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self, partition_index: int = 0, error_code: int = 0, leader_id: int = 0, leader_epoch: int = 0
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
            r.i32(),
            r.i32(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        if version >= 1:
            w.uvarint(0)


class TopicData(Message):
    """Part of EndQuorumEpochResponse."""

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


class NodeEndpoint(Message):
    """Part of EndQuorumEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "node_id",
        "host",
        "port",
    )

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> NodeEndpoint:
        made = NodeEndpoint(
            r.i32(),
            r.compact_string(),
            r.u16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.node_id)
        w.compact_string(self.host)
        w.u16(self.port)
        w.uvarint(0)


class EndQuorumEpochResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "topics",
        "node_endpoints",
    )

    def __init__(
        self, error_code: int = 0, topics: list[TopicData] = EMPTY, node_endpoints: list[NodeEndpoint] = EMPTY
    ) -> None:
        self.error_code: int = error_code
        self.topics: list[TopicData] = [] if topics is EMPTY else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> EndQuorumEpochResponse:
        if version < 0 or version > 1:
            bad_version("EndQuorumEpochResponse", version)
        made = EndQuorumEpochResponse(
            r.i16(),
            [TopicData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [TopicData.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 1:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.node_endpoints = [NodeEndpoint.decode(r, version) for _ in range(r.compact_array(8))]
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("EndQuorumEpochResponse", version)
        w.i16(self.error_code)
        if version >= 1:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
            if self.node_endpoints:
                lost_field("EndQuorumEpochResponse.node_endpoints", version)
        if version >= 1:
            tags = 0
            if self.node_endpoints:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.node_endpoints:
                    field = Writer()
                    field.compact_array(len(self.node_endpoints))
                    for node_endpoints_item in self.node_endpoints:
                        node_endpoints_item.encode(field, version)
                    w.tagged(0, field)
