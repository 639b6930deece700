"""ShareGroupStatePartitionMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitionsInfo(Message):
    """Part of ShareGroupStatePartitionMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, topic_name: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitionsInfo:
        made = TopicPartitionsInfo(
            r.uuid(),
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class TopicInfo(Message):
    """Part of ShareGroupStatePartitionMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "topic_name",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, topic_name: str = "") -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name

    @staticmethod
    def decode(r: Reader, version: int) -> TopicInfo:
        made = TopicInfo(
            r.uuid(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_string(self.topic_name)
        w.uvarint(0)


class ShareGroupStatePartitionMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "initializing_topics",
        "initialized_topics",
        "deleting_topics",
    )

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = EMPTY,
        initialized_topics: list[TopicPartitionsInfo] = EMPTY,
        deleting_topics: list[TopicInfo] = EMPTY,
    ) -> None:
        self.initializing_topics: list[TopicPartitionsInfo] = (
            [] if initializing_topics is EMPTY else initializing_topics
        )
        self.initialized_topics: list[TopicPartitionsInfo] = [] if initialized_topics is EMPTY else initialized_topics
        self.deleting_topics: list[TopicInfo] = [] if deleting_topics is EMPTY else deleting_topics

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupStatePartitionMetadataValue:
        if version != 0:
            bad_version("ShareGroupStatePartitionMetadataValue", version)
        made = ShareGroupStatePartitionMetadataValue(
            [TopicPartitionsInfo.decode(r, version) for _ in range(r.compact_array(19))],
            [TopicPartitionsInfo.decode(r, version) for _ in range(r.compact_array(19))],
            [TopicInfo.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupStatePartitionMetadataValue", version)
        w.compact_array(len(self.initializing_topics))
        for initializing_topics_item in self.initializing_topics:
            initializing_topics_item.encode(w, version)
        w.compact_array(len(self.initialized_topics))
        for initialized_topics_item in self.initialized_topics:
            initialized_topics_item.encode(w, version)
        w.compact_array(len(self.deleting_topics))
        for deleting_topics_item in self.deleting_topics:
            deleting_topics_item.encode(w, version)
        w.uvarint(0)
