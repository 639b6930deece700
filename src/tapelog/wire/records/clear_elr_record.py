"""ClearElrRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ClearElrRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name",)

    def __init__(self, topic_name: str = "") -> None:
        self.topic_name: str = topic_name

    @staticmethod
    def decode(r: Reader, version: int) -> ClearElrRecord:
        if version != 0:
            bad_version("ClearElrRecord", version)
        made = ClearElrRecord(
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ClearElrRecord", version)
        w.compact_string(self.topic_name)
        w.uvarint(0)
