"""ConsumerGroupRegularExpressionValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConsumerGroupRegularExpressionValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "version",
        "timestamp",
    )

    def __init__(self, topics: list[str] = EMPTY, version: int = 0, timestamp: int = 0) -> None:
        self.topics: list[str] = [] if topics is EMPTY else topics
        self.version: int = version
        self.timestamp: int = timestamp

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupRegularExpressionValue:
        if version != 0:
            bad_version("ConsumerGroupRegularExpressionValue", version)
        made = ConsumerGroupRegularExpressionValue(
            [r.compact_string() for _ in range(r.compact_array(1))],
            r.i64(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupRegularExpressionValue", version)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            w.compact_string(topics_item)
        w.i64(self.version)
        w.i64(self.timestamp)
        w.uvarint(0)
