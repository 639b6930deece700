"""LegacyOffsetCommitKey. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class LegacyOffsetCommitKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group",
        "topic",
        "partition",
    )

    def __init__(self, group: str = "", topic: str = "", partition: int = 0) -> None:
        self.group: str = group
        self.topic: str = topic
        self.partition: int = partition

    @staticmethod
    def decode(r: Reader, version: int) -> LegacyOffsetCommitKey:
        if version != 0:
            bad_version("LegacyOffsetCommitKey", version)
        return LegacyOffsetCommitKey(
            r.string(),
            r.string(),
            r.i32(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("LegacyOffsetCommitKey", version)
        w.string(self.group)
        w.string(self.topic)
        w.i32(self.partition)
