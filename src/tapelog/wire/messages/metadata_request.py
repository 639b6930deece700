"""MetadataRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class MetadataRequestTopic(Message):
    """Part of MetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "name",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, name: str | None = "") -> None:
        self.topic_id: bytes = topic_id
        self.name: str | None = name

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataRequestTopic:
        made = MetadataRequestTopic(
            r.uuid() if version >= 10 else ZERO_UUID,
            r.compact_nullable_string() if version >= 10 else r.compact_string() if version >= 9 else r.string(),
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 10:
            w.uuid(self.topic_id)
        if version >= 10:
            w.compact_nullable_string(self.name)
        elif version >= 9:
            w.compact_string(not_null(self.name, "name"))
        else:
            w.string(not_null(self.name, "name"))
        if version >= 9:
            w.uvarint(0)


class MetadataRequest(Message):
    """Versions 0 to 13."""

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    STABLE_MAX: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = EMPTY,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: list[MetadataRequestTopic] | None = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation: bool = allow_auto_topic_creation
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.include_topic_authorized_operations: bool = include_topic_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> MetadataRequest:
        if version < 0 or version > 13:
            bad_version("MetadataRequest", version)
        made = MetadataRequest(
            (
                None
                if (n := r.compact_nullable_array(2)) < 0
                else [MetadataRequestTopic.decode(r, version) for _ in range(n)]
            )
            if version >= 9
            else (
                None if (n := r.nullable_array(2)) < 0 else [MetadataRequestTopic.decode(r, version) for _ in range(n)]
            )
            if version >= 1
            else [MetadataRequestTopic.decode(r, version) for _ in range(r.array(2))],
            r.boolean() if version >= 4 else True,
            False if version >= 11 else r.boolean() if version >= 8 else False,
            r.boolean() if version >= 8 else False,
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 13:
            bad_version("MetadataRequest", version)
        if version >= 9:
            if self.topics is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.topics))
                for topics_item in self.topics:
                    topics_item.encode(w, version)
        elif version >= 1:
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
        if version >= 4:
            w.boolean(self.allow_auto_topic_creation)
        else:
            if not self.allow_auto_topic_creation:
                lost_field("MetadataRequest.allow_auto_topic_creation", version)
        if version >= 11:
            if self.include_cluster_authorized_operations:
                lost_field("MetadataRequest.include_cluster_authorized_operations", version)
        elif version >= 8:
            w.boolean(self.include_cluster_authorized_operations)
        else:
            if self.include_cluster_authorized_operations:
                lost_field("MetadataRequest.include_cluster_authorized_operations", version)
        if version >= 8:
            w.boolean(self.include_topic_authorized_operations)
        else:
            if self.include_topic_authorized_operations:
                lost_field("MetadataRequest.include_topic_authorized_operations", version)
        if version >= 9:
            w.uvarint(0)
