"""DeleteShareGroupOffsetsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeleteShareGroupOffsetsRequestTopic(Message):
    """Part of DeleteShareGroupOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name",)

    def __init__(self, topic_name: str = "") -> None:
        self.topic_name: str = topic_name

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteShareGroupOffsetsRequestTopic:
        made = DeleteShareGroupOffsetsRequestTopic(
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.uvarint(0)


class DeleteShareGroupOffsetsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )

    def __init__(self, group_id: str = "", topics: list[DeleteShareGroupOffsetsRequestTopic] = EMPTY) -> None:
        self.group_id: str = group_id
        self.topics: list[DeleteShareGroupOffsetsRequestTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteShareGroupOffsetsRequest:
        if version != 0:
            bad_version("DeleteShareGroupOffsetsRequest", version)
        made = DeleteShareGroupOffsetsRequest(
            r.compact_string(),
            [DeleteShareGroupOffsetsRequestTopic.decode(r, version) for _ in range(r.compact_array(2))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DeleteShareGroupOffsetsRequest", version)
        w.compact_string(self.group_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)
