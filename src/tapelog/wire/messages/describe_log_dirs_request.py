"""DescribeLogDirsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribableLogDirTopic(Message):
    """Part of DescribeLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DescribableLogDirTopic:
        made = DescribableLogDirTopic(
            r.compact_string() if version >= 2 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 2 else r.i32_items(r.array(4)),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.topic)
            w.compact_array(len(self.partitions))
            w.i32_items(self.partitions)
        else:
            w.string(self.topic)
            w.array(len(self.partitions))
            w.i32_items(self.partitions)
        if version >= 2:
            w.uvarint(0)


class DescribeLogDirsRequest(Message):
    """Versions 1 to 5."""

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(self, topics: list[DescribableLogDirTopic] | None = EMPTY) -> None:
        self.topics: list[DescribableLogDirTopic] | None = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeLogDirsRequest:
        if version < 1 or version > 5:
            bad_version("DescribeLogDirsRequest", version)
        made = DescribeLogDirsRequest(
            (
                None
                if (n := r.compact_nullable_array(3)) < 0
                else [DescribableLogDirTopic.decode(r, version) for _ in range(n)]
            )
            if version >= 2
            else None
            if (n := r.nullable_array(3)) < 0
            else [DescribableLogDirTopic.decode(r, version) for _ in range(n)],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 5:
            bad_version("DescribeLogDirsRequest", version)
        if version >= 2:
            if self.topics is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.topics))
                for topics_item in self.topics:
                    topics_item.encode(w, version)
        else:
            if self.topics is None:
                w.array(-1)
            else:
                w.array(len(self.topics))
                for topics_item in self.topics:
                    topics_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
