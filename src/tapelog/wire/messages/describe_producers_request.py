"""DescribeProducersRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicRequest(Message):
    """Part of DescribeProducersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )

    def __init__(self, name: str = "", partition_indexes: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes

    @staticmethod
    def decode(r: Reader, version: int) -> TopicRequest:
        made = TopicRequest(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partition_indexes))
        w.i32_items(self.partition_indexes)
        w.uvarint(0)


class DescribeProducersRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(self, topics: list[TopicRequest] = EMPTY) -> None:
        self.topics: list[TopicRequest] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeProducersRequest:
        if version != 0:
            bad_version("DescribeProducersRequest", version)
        made = DescribeProducersRequest(
            [TopicRequest.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeProducersRequest", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
