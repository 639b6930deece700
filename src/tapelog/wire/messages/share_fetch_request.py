"""ShareFetchRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class AcknowledgementBatch(Message):
    """Part of ShareFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "first_offset",
        "last_offset",
        "acknowledge_types",
    )

    def __init__(self, first_offset: int = 0, last_offset: int = 0, acknowledge_types: list[int] = EMPTY) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.acknowledge_types: list[int] = [] if acknowledge_types is EMPTY else acknowledge_types

    @staticmethod
    def decode(r: Reader, version: int) -> AcknowledgementBatch:
        made = AcknowledgementBatch(
            r.i64(),
            r.i64(),
            [r.i8() for _ in range(r.compact_array(1))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.first_offset)
        w.i64(self.last_offset)
        w.compact_array(len(self.acknowledge_types))
        for acknowledge_types_item in self.acknowledge_types:
            w.i8(acknowledge_types_item)
        w.uvarint(0)


class FetchPartition(Message):
    """Part of ShareFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "acknowledgement_batches",
    )

    def __init__(self, partition_index: int = 0, acknowledgement_batches: list[AcknowledgementBatch] = EMPTY) -> None:
        self.partition_index: int = partition_index
        self.acknowledgement_batches: list[AcknowledgementBatch] = (
            [] if acknowledgement_batches is EMPTY else acknowledgement_batches
        )

    @staticmethod
    def decode(r: Reader, version: int) -> FetchPartition:
        made = FetchPartition(
            r.i32(),
            [AcknowledgementBatch.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.compact_array(len(self.acknowledgement_batches))
        for acknowledgement_batches_item in self.acknowledgement_batches:
            acknowledgement_batches_item.encode(w, version)
        w.uvarint(0)


class FetchTopic(Message):
    """Part of ShareFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[FetchPartition] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[FetchPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> FetchTopic:
        made = FetchTopic(
            r.uuid(),
            [FetchPartition.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ForgottenTopic(Message):
    """Part of ShareFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ForgottenTopic:
        made = ForgottenTopic(
            r.uuid(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class ShareFetchRequest(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "max_records",
        "batch_size",
        "share_acquire_mode",
        "is_renew_ack",
        "topics",
        "forgotten_topics_data",
    )

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
    ) -> None:
        self.group_id: str | None = group_id
        self.member_id: str | None = member_id
        self.share_session_epoch: int = share_session_epoch
        self.max_wait_ms: int = max_wait_ms
        self.min_bytes: int = min_bytes
        self.max_bytes: int = max_bytes
        self.max_records: int = max_records
        self.batch_size: int = batch_size
        self.share_acquire_mode: int = share_acquire_mode
        self.is_renew_ack: bool = is_renew_ack
        self.topics: list[FetchTopic] = [] if topics is EMPTY else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        )

    @staticmethod
    def decode(r: Reader, version: int) -> ShareFetchRequest:
        if version < 1 or version > 2:
            bad_version("ShareFetchRequest", version)
        made = ShareFetchRequest(
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i8() if version >= 2 else 0,
            r.boolean() if version >= 2 else False,
            [FetchTopic.decode(r, version) for _ in range(r.compact_array(18))],
            [ForgottenTopic.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("ShareFetchRequest", version)
        w.compact_nullable_string(self.group_id)
        w.compact_nullable_string(self.member_id)
        w.i32(self.share_session_epoch)
        w.i32(self.max_wait_ms)
        w.i32(self.min_bytes)
        w.i32(self.max_bytes)
        w.i32(self.max_records)
        w.i32(self.batch_size)
        if version >= 2:
            w.i8(self.share_acquire_mode)
            w.boolean(self.is_renew_ack)
        else:
            if self.is_renew_ack:
                lost_field("ShareFetchRequest.is_renew_ack", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.compact_array(len(self.forgotten_topics_data))
        for forgotten_topics_data_item in self.forgotten_topics_data:
            forgotten_topics_data_item.encode(w, version)
        w.uvarint(0)
