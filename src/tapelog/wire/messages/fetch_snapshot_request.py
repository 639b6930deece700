"""FetchSnapshotRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class SnapshotId(Message):
    """Part of FetchSnapshotRequest."""

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


class PartitionSnapshot(Message):
    """Part of FetchSnapshotRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId | None = None,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.position: int = position
        self.replica_directory_id: bytes = replica_directory_id

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionSnapshot:
        made = PartitionSnapshot(
            r.i32(),
            r.i32(),
            SnapshotId.decode(r, version),
            r.i64(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0 and version >= 1:
                made.replica_directory_id = r.uuid()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        w.i32(self.current_leader_epoch)
        self.snapshot_id.encode(w, version)
        w.i64(self.position)
        tags = 0
        if version >= 1 and self.replica_directory_id != ZERO_UUID:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if version >= 1 and self.replica_directory_id != ZERO_UUID:
                field = Writer()
                field.uuid(self.replica_directory_id)
                w.tagged(0, field)


class TopicSnapshot(Message):
    """Part of FetchSnapshotRequest."""

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
            [PartitionSnapshot.decode(r, version) for _ in range(r.compact_array(30))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class FetchSnapshotRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "replica_id",
        "max_bytes",
        "topics",
    )

    def __init__(
        self,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[TopicSnapshot] = EMPTY,
        cluster_id: str | None = None,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.replica_id: int = replica_id
        self.max_bytes: int = max_bytes
        self.topics: list[TopicSnapshot] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> FetchSnapshotRequest:
        if version < 0 or version > 1:
            bad_version("FetchSnapshotRequest", version)
        made = FetchSnapshotRequest(
            r.i32(),
            r.i32(),
            [TopicSnapshot.decode(r, version) for _ in range(r.compact_array(3))],
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.cluster_id = r.compact_nullable_string()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("FetchSnapshotRequest", version)
        w.i32(self.replica_id)
        w.i32(self.max_bytes)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        tags = 0
        if self.cluster_id is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.cluster_id is not None:
                field = Writer()
                field.compact_string(self.cluster_id)
                w.tagged(0, field)
