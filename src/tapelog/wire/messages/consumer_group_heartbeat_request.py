"""ConsumerGroupHeartbeatRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ConsumerGroupHeartbeatRequest."""

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


class ConsumerGroupHeartbeatRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[TopicPartitions] | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.subscribed_topic_names: list[str] | None = subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.server_assignor: str | None = server_assignor
        self.topic_partitions: list[TopicPartitions] | None = topic_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupHeartbeatRequest:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupHeartbeatRequest", version)
        made = ConsumerGroupHeartbeatRequest(
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.i32(),
            None if (n := r.compact_nullable_array(1)) < 0 else [r.compact_string() for _ in range(n)],
            r.compact_nullable_string() if version >= 1 else None,
            r.compact_nullable_string(),
            None if (n := r.compact_nullable_array(18)) < 0 else [TopicPartitions.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupHeartbeatRequest", version)
        w.compact_string(self.group_id)
        w.compact_string(self.member_id)
        w.i32(self.member_epoch)
        w.compact_nullable_string(self.instance_id)
        w.compact_nullable_string(self.rack_id)
        w.i32(self.rebalance_timeout_ms)
        if self.subscribed_topic_names is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.subscribed_topic_names))
            for subscribed_topic_names_item in self.subscribed_topic_names:
                w.compact_string(subscribed_topic_names_item)
        if version >= 1:
            w.compact_nullable_string(self.subscribed_topic_regex)
        else:
            if self.subscribed_topic_regex is not None:
                lost_field("ConsumerGroupHeartbeatRequest.subscribed_topic_regex", version)
        w.compact_nullable_string(self.server_assignor)
        if self.topic_partitions is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.topic_partitions))
            for topic_partitions_item in self.topic_partitions:
                topic_partitions_item.encode(w, version)
        w.uvarint(0)
