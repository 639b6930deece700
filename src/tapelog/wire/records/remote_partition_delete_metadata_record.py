"""RemotePartitionDeleteMetadataRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicIdPartitionEntry(Message):
    """Part of RemotePartitionDeleteMetadataRecord."""

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


class RemotePartitionDeleteMetadataRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id_partition",
        "broker_id",
        "event_timestamp_ms",
        "remote_partition_delete_state",
    )

    def __init__(
        self,
        topic_id_partition: TopicIdPartitionEntry | None = None,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        remote_partition_delete_state: int = 0,
    ) -> None:
        self.topic_id_partition: TopicIdPartitionEntry = (
            TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        )
        self.broker_id: int = broker_id
        self.event_timestamp_ms: int = event_timestamp_ms
        self.remote_partition_delete_state: int = remote_partition_delete_state

    @staticmethod
    def decode(r: Reader, version: int) -> RemotePartitionDeleteMetadataRecord:
        if version != 0:
            bad_version("RemotePartitionDeleteMetadataRecord", version)
        made = RemotePartitionDeleteMetadataRecord(
            TopicIdPartitionEntry.decode(r, version),
            r.i32(),
            r.i64(),
            r.i8(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemotePartitionDeleteMetadataRecord", version)
        self.topic_id_partition.encode(w, version)
        w.i32(self.broker_id)
        w.i64(self.event_timestamp_ms)
        w.i8(self.remote_partition_delete_state)
        w.uvarint(0)
