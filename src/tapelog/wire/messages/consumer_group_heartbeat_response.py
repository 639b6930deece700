"""ConsumerGroupHeartbeatResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ConsumerGroupHeartbeatResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitions:
        made = TopicPartitions(
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


class Assignment(Message):
    """Part of ConsumerGroupHeartbeatResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(self, topic_partitions: list[TopicPartitions] = EMPTY) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is EMPTY else topic_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> Assignment:
        made = Assignment(
            [TopicPartitions.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_array(len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions:
            topic_partitions_item.encode(w, version)
        w.uvarint(0)


class ConsumerGroupHeartbeatResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.heartbeat_interval_ms: int = heartbeat_interval_ms
        self.assignment: Assignment | None = assignment

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupHeartbeatResponse:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupHeartbeatResponse", version)
        made = ConsumerGroupHeartbeatResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.i32(),
            r.i32(),
            Assignment.decode(r, version) if r.present() else None,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupHeartbeatResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_nullable_string(self.member_id)
        w.i32(self.member_epoch)
        w.i32(self.heartbeat_interval_ms)
        if self.assignment is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.assignment.encode(w, version)
        w.uvarint(0)
