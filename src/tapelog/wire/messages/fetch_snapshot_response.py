"""FetchSnapshotResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.values import RecordBytes
from tapelog.wire.writer import Writer


class SnapshotId(Message):
    """Part of FetchSnapshotResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "end_offset",
        "epoch",
    )

    def __init__(self, end_offset: int = 0, epoch: int = 0) -> None:
        self.end_offset: int = end_offset
        self.epoch: int = epoch

    @staticmethod
    def decode(r: Reader, version: int) -> SnapshotId:
        made = SnapshotId(
            r.i64(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.end_offset)
        w.i32(self.epoch)
        w.uvarint(0)


class LeaderIdAndEpoch(Message):
    """Part of FetchSnapshotResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_id",
        "leader_epoch",
    )

    def __init__(self, leader_id: int = 0, leader_epoch: int = 0) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> LeaderIdAndEpoch:
        made = LeaderIdAndEpoch(
            r.i32(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.uvarint(0)


class PartitionSnapshot(Message):
    """Part of FetchSnapshotResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: RecordBytes = b"",
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index: int = index
        self.error_code: int = error_code
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.size: int = size
        self.position: int = position
        self.unaligned_records: RecordBytes = unaligned_records

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionSnapshot:
        made = PartitionSnapshot(
            r.i32(),
            r.i16(),
            SnapshotId.decode(r, version),
            r.i64(),
            r.i64(),
            not_null(r.compact_records(), "unaligned_records"),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.current_leader = LeaderIdAndEpoch.decode(r, version)
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.index)
        w.i16(self.error_code)
        self.snapshot_id.encode(w, version)
        w.i64(self.size)
        w.i64(self.position)
        w.compact_records(self.unaligned_records)
        tags = 0
        if self.current_leader is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.current_leader is not None:
                field = Writer()
                self.current_leader.encode(field, version)
                w.tagged(0, field)


class TopicSnapshot(Message):
    """Part of FetchSnapshotResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[PartitionSnapshot] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[PartitionSnapshot] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicSnapshot:
        made = TopicSnapshot(
            r.compact_string(),
            [PartitionSnapshot.decode(r, version) for _ in range(r.compact_array(37))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class NodeEndpoint(Message):
    """Part of FetchSnapshotResponse."""

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


class FetchSnapshotResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "topics",
        "node_endpoints",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicSnapshot] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.topics: list[TopicSnapshot] = [] if topics is EMPTY else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> FetchSnapshotResponse:
        if version < 0 or version > 1:
            bad_version("FetchSnapshotResponse", version)
        made = FetchSnapshotResponse(
            r.i32(),
            r.i16(),
            [TopicSnapshot.decode(r, version) for _ in range(r.compact_array(3))],
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0 and version >= 1:
                made.node_endpoints = [NodeEndpoint.decode(r, version) for _ in range(r.compact_array(8))]
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("FetchSnapshotResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        if version < 1:
            if self.node_endpoints:
                lost_field("FetchSnapshotResponse.node_endpoints", version)
        tags = 0
        if version >= 1 and self.node_endpoints:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if version >= 1 and self.node_endpoints:
                field = Writer()
                field.compact_array(len(self.node_endpoints))
                for node_endpoints_item in self.node_endpoints:
                    node_endpoints_item.encode(field, version)
                w.tagged(0, field)
