"""RemoteLogSegmentMetadataRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicIdPartitionEntry(Message):
    """Part of RemoteLogSegmentMetadataRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "id",
        "partition",
    )

    def __init__(self, name: str = "", id: bytes = ZERO_UUID, partition: int = 0) -> None:
        self.name: str = name
        self.id: bytes = id
        self.partition: int = partition

    @staticmethod
    def decode(r: Reader, version: int) -> TopicIdPartitionEntry:
        made = TopicIdPartitionEntry(
            r.compact_string(),
            r.uuid(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.uuid(self.id)
        w.i32(self.partition)
        w.uvarint(0)


class RemoteLogSegmentIdEntry(Message):
    """Part of RemoteLogSegmentMetadataRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id_partition",
        "id",
    )

    def __init__(self, topic_id_partition: TopicIdPartitionEntry | None = None, id: bytes = ZERO_UUID) -> None:
        self.topic_id_partition: TopicIdPartitionEntry = (
            TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        )
        self.id: bytes = id

    @staticmethod
    def decode(r: Reader, version: int) -> RemoteLogSegmentIdEntry:
        made = RemoteLogSegmentIdEntry(
            TopicIdPartitionEntry.decode(r, version),
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        self.topic_id_partition.encode(w, version)
        w.uuid(self.id)
        w.uvarint(0)


class SegmentLeaderEpochEntry(Message):
    """Part of RemoteLogSegmentMetadataRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_epoch",
        "offset",
    )

    def __init__(self, leader_epoch: int = 0, offset: int = 0) -> None:
        self.leader_epoch: int = leader_epoch
        self.offset: int = offset

    @staticmethod
    def decode(r: Reader, version: int) -> SegmentLeaderEpochEntry:
        made = SegmentLeaderEpochEntry(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.leader_epoch)
        w.i64(self.offset)
        w.uvarint(0)


class RemoteLogSegmentMetadataRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "remote_log_segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
    )

    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentIdEntry | None = None,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[SegmentLeaderEpochEntry] = EMPTY,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
    ) -> None:
        self.remote_log_segment_id: RemoteLogSegmentIdEntry = (
            RemoteLogSegmentIdEntry() if remote_log_segment_id is None else remote_log_segment_id
        )
        self.start_offset: int = start_offset
        self.end_offset: int = end_offset
        self.broker_id: int = broker_id
        self.max_timestamp_ms: int = max_timestamp_ms
        self.event_timestamp_ms: int = event_timestamp_ms
        self.segment_leader_epochs: list[SegmentLeaderEpochEntry] = (
            [] if segment_leader_epochs is EMPTY else segment_leader_epochs
        )
        self.segment_size_in_bytes: int = segment_size_in_bytes
        self.custom_metadata: bytes | None = custom_metadata
        self.remote_log_segment_state: int = remote_log_segment_state
        self.txn_index_empty: bool = txn_index_empty

    @staticmethod
    def decode(r: Reader, version: int) -> RemoteLogSegmentMetadataRecord:
        if version != 0:
            bad_version("RemoteLogSegmentMetadataRecord", version)
        made = RemoteLogSegmentMetadataRecord(
            RemoteLogSegmentIdEntry.decode(r, version),
            r.i64(),
            r.i64(),
            r.i32(),
            r.i64(),
            r.i64(),
            [SegmentLeaderEpochEntry.decode(r, version) for _ in range(r.compact_array(13))],
            r.i32(),
            r.compact_nullable_bytestring(),
            r.i8(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.txn_index_empty = r.boolean()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoteLogSegmentMetadataRecord", version)
        self.remote_log_segment_id.encode(w, version)
        w.i64(self.start_offset)
        w.i64(self.end_offset)
        w.i32(self.broker_id)
        w.i64(self.max_timestamp_ms)
        w.i64(self.event_timestamp_ms)
        w.compact_array(len(self.segment_leader_epochs))
        for segment_leader_epochs_item in self.segment_leader_epochs:
            segment_leader_epochs_item.encode(w, version)
        w.i32(self.segment_size_in_bytes)
        w.compact_nullable_bytestring(self.custom_metadata)
        w.i8(self.remote_log_segment_state)
        tags = 0
        if self.txn_index_empty:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.txn_index_empty:
                field = Writer()
                field.boolean(self.txn_index_empty)
                w.tagged(0, field)
