"""DescribeShareGroupOffsetsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeShareGroupOffsetsRequestTopic(Message):
    """Part of DescribeShareGroupOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_name: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsRequestTopic:
        made = DescribeShareGroupOffsetsRequestTopic(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class DescribeShareGroupOffsetsRequestGroup(Message):
    """Part of DescribeShareGroupOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[DescribeShareGroupOffsetsRequestTopic] | None = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[DescribeShareGroupOffsetsRequestTopic] | None = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsRequestGroup:
        made = DescribeShareGroupOffsetsRequestGroup(
            r.compact_string(),
            None
            if (n := r.compact_nullable_array(3)) < 0
            else [DescribeShareGroupOffsetsRequestTopic.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.group_id)
        if self.topics is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.uvarint(0)


class DescribeShareGroupOffsetsRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("groups",)

    def __init__(self, groups: list[DescribeShareGroupOffsetsRequestGroup] = EMPTY) -> None:
        self.groups: list[DescribeShareGroupOffsetsRequestGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeShareGroupOffsetsRequest:
        if version < 0 or version > 1:
            bad_version("DescribeShareGroupOffsetsRequest", version)
        made = DescribeShareGroupOffsetsRequest(
            [DescribeShareGroupOffsetsRequestGroup.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("DescribeShareGroupOffsetsRequest", version)
        w.compact_array(len(self.groups))
        for groups_item in self.groups:
            groups_item.encode(w, version)
        w.uvarint(0)
