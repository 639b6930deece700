"""DeleteTopicsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class DeleteTopicState(Message):
    """Part of DeleteTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
    )

    def __init__(self, name: str | None = None, topic_id: bytes = ZERO_UUID) -> None:
        self.name: str | None = name
        self.topic_id: bytes = topic_id

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteTopicState:
        made = DeleteTopicState(
            r.compact_nullable_string(),
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_nullable_string(self.name)
        w.uuid(self.topic_id)
        w.uvarint(0)


class DeleteTopicsRequest(Message):
    """Versions 1 to 6."""

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "topic_names",
        "timeout_ms",
    )

    def __init__(
        self, topics: list[DeleteTopicState] = EMPTY, topic_names: list[str] = EMPTY, timeout_ms: int = 0
    ) -> None:
        self.topics: list[DeleteTopicState] = [] if topics is EMPTY else topics
        self.topic_names: list[str] = [] if topic_names is EMPTY else topic_names
        self.timeout_ms: int = timeout_ms

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteTopicsRequest:
        if version < 1 or version > 6:
            bad_version("DeleteTopicsRequest", version)
        made = DeleteTopicsRequest(
            [DeleteTopicState.decode(r, version) for _ in range(r.compact_array(18))] if version >= 6 else [],
            []
            if version >= 6
            else [r.compact_string() for _ in range(r.compact_array(1))]
            if version >= 4
            else [r.string() for _ in range(r.array(1))],
            r.i32(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 6:
            bad_version("DeleteTopicsRequest", version)
        if version >= 6:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            if self.topics:
                lost_field("DeleteTopicsRequest.topics", version)
        if version >= 6:
            pass
        elif version >= 4:
            w.compact_array(len(self.topic_names))
            for topic_names_item in self.topic_names:
                w.compact_string(topic_names_item)
        else:
            w.array(len(self.topic_names))
            for topic_names_item in self.topic_names:
                w.string(topic_names_item)
        w.i32(self.timeout_ms)
        if version >= 4:
            w.uvarint(0)
