"""DescribeTopicPartitionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicRequest(Message):
    """Part of DescribeTopicPartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name: str = name

    @staticmethod
    def decode(r: Reader, version: int) -> TopicRequest:
        made = TopicRequest(
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.uvarint(0)


class Cursor(Message):
    """Part of DescribeTopicPartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partition_index",
    )

    def __init__(self, topic_name: str = "", partition_index: int = 0) -> None:
        self.topic_name: str = topic_name
        self.partition_index: int = partition_index

    @staticmethod
    def decode(r: Reader, version: int) -> Cursor:
        made = Cursor(
            r.compact_string(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.i32(self.partition_index)
        w.uvarint(0)


class DescribeTopicPartitionsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "response_partition_limit",
        "cursor",
    )

    def __init__(
        self, topics: list[TopicRequest] = EMPTY, response_partition_limit: int = 2000, cursor: Cursor | None = None
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is EMPTY else topics
        self.response_partition_limit: int = response_partition_limit
        self.cursor: Cursor | None = cursor

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTopicPartitionsRequest:
        if version != 0:
            bad_version("DescribeTopicPartitionsRequest", version)
        made = DescribeTopicPartitionsRequest(
            [TopicRequest.decode(r, version) for _ in range(r.compact_array(2))],
            r.i32(),
            Cursor.decode(r, version) if r.present() else None,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeTopicPartitionsRequest", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.i32(self.response_partition_limit)
        if self.cursor is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.cursor.encode(w, version)
        w.uvarint(0)
