"""ShareAcknowledgeRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class AcknowledgementBatch(Message):
    """Part of ShareAcknowledgeRequest."""

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


class AcknowledgePartition(Message):
    """Part of ShareAcknowledgeRequest."""

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
    def decode(r: Reader, version: int) -> AcknowledgePartition:
        made = AcknowledgePartition(
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


class AcknowledgeTopic(Message):
    """Part of ShareAcknowledgeRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[AcknowledgePartition] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[AcknowledgePartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AcknowledgeTopic:
        made = AcknowledgeTopic(
            r.uuid(),
            [AcknowledgePartition.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class ShareAcknowledgeRequest(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "is_renew_ack",
        "topics",
    )

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] = EMPTY,
    ) -> None:
        self.group_id: str | None = group_id
        self.member_id: str | None = member_id
        self.share_session_epoch: int = share_session_epoch
        self.is_renew_ack: bool = is_renew_ack
        self.topics: list[AcknowledgeTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> ShareAcknowledgeRequest:
        if version < 1 or version > 2:
            bad_version("ShareAcknowledgeRequest", version)
        made = ShareAcknowledgeRequest(
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.i32(),
            r.boolean() if version >= 2 else False,
            [AcknowledgeTopic.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("ShareAcknowledgeRequest", version)
        w.compact_nullable_string(self.group_id)
        w.compact_nullable_string(self.member_id)
        w.i32(self.share_session_epoch)
        if version >= 2:
            w.boolean(self.is_renew_ack)
        else:
            if self.is_renew_ack:
                lost_field("ShareAcknowledgeRequest.is_renew_ack", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
