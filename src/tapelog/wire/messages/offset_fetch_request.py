"""OffsetFetchRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class OffsetFetchRequestTopic(Message):
    """Part of OffsetFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )

    def __init__(self, name: str = "", partition_indexes: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchRequestTopic:
        made = OffsetFetchRequestTopic(
            r.compact_string() if version >= 6 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 6 else r.i32_items(r.array(4)),
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 6:
            w.compact_string(self.name)
            w.compact_array(len(self.partition_indexes))
            w.i32_items(self.partition_indexes)
        else:
            w.string(self.name)
            w.array(len(self.partition_indexes))
            w.i32_items(self.partition_indexes)
        if version >= 6:
            w.uvarint(0)


class OffsetFetchRequestTopics(Message):
    """Part of OffsetFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partition_indexes",
    )

    def __init__(self, name: str = "", topic_id: bytes = ZERO_UUID, partition_indexes: list[int] = EMPTY) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchRequestTopics:
        made = OffsetFetchRequestTopics(
            "" if version >= 10 else r.compact_string(),
            r.uuid() if version >= 10 else ZERO_UUID,
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 10:
            w.uuid(self.topic_id)
        else:
            w.compact_string(self.name)
        w.compact_array(len(self.partition_indexes))
        w.i32_items(self.partition_indexes)
        w.uvarint(0)


class OffsetFetchRequestGroup(Message):
    """Part of OffsetFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "member_epoch",
        "topics",
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.topics: list[OffsetFetchRequestTopics] | None = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchRequestGroup:
        made = OffsetFetchRequestGroup(
            r.compact_string(),
            r.compact_nullable_string() if version >= 9 else None,
            r.i32() if version >= 9 else -1,
            None
            if (n := r.compact_nullable_array(3)) < 0
            else [OffsetFetchRequestTopics.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.group_id)
        if version >= 9:
            w.compact_nullable_string(self.member_id)
            w.i32(self.member_epoch)
        if self.topics is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.uvarint(0)


class OffsetFetchRequest(Message):
    """Versions 1 to 10."""

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    STABLE_MAX: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
        "groups",
        "require_stable",
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetFetchRequestTopic] | None = [] if topics is EMPTY else topics
        self.groups: list[OffsetFetchRequestGroup] = [] if groups is EMPTY else groups
        self.require_stable: bool = require_stable

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetFetchRequest:
        if version < 1 or version > 10:
            bad_version("OffsetFetchRequest", version)
        made = OffsetFetchRequest(
            "" if version >= 8 else r.compact_string() if version >= 6 else r.string(),
            []
            if version >= 8
            else (
                None
                if (n := r.compact_nullable_array(3)) < 0
                else [OffsetFetchRequestTopic.decode(r, version) for _ in range(n)]
            )
            if version >= 6
            else (
                None
                if (n := r.nullable_array(3)) < 0
                else [OffsetFetchRequestTopic.decode(r, version) for _ in range(n)]
            )
            if version >= 2
            else [OffsetFetchRequestTopic.decode(r, version) for _ in range(r.array(3))],
            [OffsetFetchRequestGroup.decode(r, version) for _ in range(r.compact_array(3))] if version >= 8 else [],
            r.boolean() if version >= 7 else False,
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 10:
            bad_version("OffsetFetchRequest", version)
        if version >= 8:
            if self.group_id != "":
                lost_field("OffsetFetchRequest.group_id", version)
        elif version >= 6:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        if version >= 8:
            if self.topics is None or self.topics:
                lost_field("OffsetFetchRequest.topics", version)
        elif version >= 6:
            if self.topics is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.topics))
                for topics_item in self.topics:
                    topics_item.encode(w, version)
        elif version >= 2:
            if self.topics is None:
                w.array(-1)
            else:
                w.array(len(self.topics))
                for topics_item in self.topics:
                    topics_item.encode(w, version)
        else:
            topics = not_null(self.topics, "topics")
            w.array(len(topics))
            for topics_item in topics:
                topics_item.encode(w, version)
        if version >= 8:
            w.compact_array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        else:
            if self.groups:
                lost_field("OffsetFetchRequest.groups", version)
        if version >= 7:
            w.boolean(self.require_stable)
        else:
            if self.require_stable:
                lost_field("OffsetFetchRequest.require_stable", version)
        if version >= 6:
            w.uvarint(0)
