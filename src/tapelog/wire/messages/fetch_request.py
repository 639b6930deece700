"""FetchRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class ReplicaState(Message):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "replica_epoch",
    )

    def __init__(self, replica_id: int = -1, replica_epoch: int = -1) -> None:
        self.replica_id: int = replica_id
        self.replica_epoch: int = replica_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> ReplicaState:
        made = ReplicaState(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.replica_id)
        w.i64(self.replica_epoch)
        w.uvarint(0)


class FetchPartition(Message):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.fetch_offset: int = fetch_offset
        self.last_fetched_epoch: int = last_fetched_epoch
        self.log_start_offset: int = log_start_offset
        self.partition_max_bytes: int = partition_max_bytes
        self.replica_directory_id: bytes = replica_directory_id
        self.high_watermark: int = high_watermark

    @staticmethod
    def decode(r: Reader, version: int) -> FetchPartition:
        made = FetchPartition(
            r.i32(),
            r.i32() if version >= 9 else -1,
            r.i64(),
            r.i32() if version >= 12 else -1,
            r.i64() if version >= 5 else -1,
            r.i32(),
        )
        if version >= 12:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0 and version >= 17:
                    made.replica_directory_id = r.uuid()
                elif tag == 1 and version >= 18:
                    made.high_watermark = r.i64()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition)
        if version >= 9:
            w.i32(self.current_leader_epoch)
        w.i64(self.fetch_offset)
        if version >= 12:
            w.i32(self.last_fetched_epoch)
        else:
            if self.last_fetched_epoch != -1:
                lost_field("FetchPartition.last_fetched_epoch", version)
        if version >= 5:
            w.i64(self.log_start_offset)
        w.i32(self.partition_max_bytes)
        if version >= 12:
            tags = 0
            if version >= 17 and self.replica_directory_id != ZERO_UUID:
                tags += 1
            if version >= 18 and self.high_watermark != 9223372036854775807:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if version >= 17 and self.replica_directory_id != ZERO_UUID:
                    field = Writer()
                    field.uuid(self.replica_directory_id)
                    w.tagged(0, field)
                if version >= 18 and self.high_watermark != 9223372036854775807:
                    field = Writer()
                    field.i64(self.high_watermark)
                    w.tagged(1, field)


class FetchTopic(Message):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "topic_id",
        "partitions",
    )

    def __init__(self, topic: str = "", topic_id: bytes = ZERO_UUID, partitions: list[FetchPartition] = EMPTY) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[FetchPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> FetchTopic:
        made = FetchTopic(
            "" if version >= 13 else r.compact_string() if version >= 12 else r.string(),
            r.uuid() if version >= 13 else ZERO_UUID,
            [FetchPartition.decode(r, version) for _ in range(r.compact_array(16))]
            if version >= 12
            else [FetchPartition.decode(r, version) for _ in range(r.array(16))],
        )
        if version >= 12:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 13:
            pass
        elif version >= 12:
            w.compact_string(self.topic)
        else:
            w.string(self.topic)
        if version >= 13:
            w.uuid(self.topic_id)
        if version >= 12:
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 12:
            w.uvarint(0)


class ForgottenTopic(Message):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "topic_id",
        "partitions",
    )

    def __init__(self, topic: str = "", topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ForgottenTopic:
        made = ForgottenTopic(
            "" if version >= 13 else r.compact_string() if version >= 12 else r.string(),
            r.uuid() if version >= 13 else ZERO_UUID,
            r.i32_items(r.compact_array(4)) if version >= 12 else r.i32_items(r.array(4)),
        )
        if version >= 12:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 13:
            pass
        elif version >= 12:
            w.compact_string(self.topic)
        else:
            w.string(self.topic)
        if version >= 13:
            w.uuid(self.topic_id)
        if version >= 12:
            w.compact_array(len(self.partitions))
            w.i32_items(self.partitions)
        else:
            w.array(len(self.partitions))
            w.i32_items(self.partitions)
        if version >= 12:
            w.uvarint(0)


class FetchRequest(Message):
    """Versions 4 to 18."""

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    STABLE_MAX: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )

    def __init__(
        self,
        replica_id: int = -1,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        rack_id: str = "",
        cluster_id: str | None = None,
        replica_state: ReplicaState | None = None,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.replica_id: int = replica_id
        self.replica_state: ReplicaState | None = replica_state
        self.max_wait_ms: int = max_wait_ms
        self.min_bytes: int = min_bytes
        self.max_bytes: int = max_bytes
        self.isolation_level: int = isolation_level
        self.session_id: int = session_id
        self.session_epoch: int = session_epoch
        self.topics: list[FetchTopic] = [] if topics is EMPTY else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        )
        self.rack_id: str = rack_id

    @staticmethod
    def decode(r: Reader, version: int) -> FetchRequest:
        if version < 4 or version > 18:
            bad_version("FetchRequest", version)
        made = FetchRequest(
            -1 if version >= 15 else r.i32(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i8(),
            r.i32() if version >= 7 else 0,
            r.i32() if version >= 7 else -1,
            [FetchTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 12
            else [FetchTopic.decode(r, version) for _ in range(r.array(3))],
            [ForgottenTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 12
            else [ForgottenTopic.decode(r, version) for _ in range(r.array(3))]
            if version >= 7
            else [],
            r.compact_string() if version >= 12 else r.string() if version >= 11 else "",
        )
        if version >= 12:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.cluster_id = r.compact_nullable_string()
                elif tag == 1 and version >= 15:
                    made.replica_state = ReplicaState.decode(r, version)
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 4 or version > 18:
            bad_version("FetchRequest", version)
        if version >= 15:
            if self.replica_id != -1:
                lost_field("FetchRequest.replica_id", version)
        else:
            w.i32(self.replica_id)
            if self.replica_state is not None:
                lost_field("FetchRequest.replica_state", version)
        w.i32(self.max_wait_ms)
        w.i32(self.min_bytes)
        w.i32(self.max_bytes)
        w.i8(self.isolation_level)
        if version >= 7:
            w.i32(self.session_id)
            w.i32(self.session_epoch)
        if version >= 12:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 12:
            w.compact_array(len(self.forgotten_topics_data))
            for forgotten_topics_data_item in self.forgotten_topics_data:
                forgotten_topics_data_item.encode(w, version)
        elif version >= 7:
            w.array(len(self.forgotten_topics_data))
            for forgotten_topics_data_item in self.forgotten_topics_data:
                forgotten_topics_data_item.encode(w, version)
        else:
            if self.forgotten_topics_data:
                lost_field("FetchRequest.forgotten_topics_data", version)
        if version >= 12:
            w.compact_string(self.rack_id)
        elif version >= 11:
            w.string(self.rack_id)
        if version >= 12:
            tags = 0
            if self.cluster_id is not None:
                tags += 1
            if version >= 15 and self.replica_state is not None:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.cluster_id is not None:
                    field = Writer()
                    field.compact_string(self.cluster_id)
                    w.tagged(0, field)
                if version >= 15 and self.replica_state is not None:
                    field = Writer()
                    self.replica_state.encode(field, version)
                    w.tagged(1, field)
