"""LegacyOffsetCommitValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class LegacyOffsetCommitValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "offset",
        "metadata",
        "commit_timestamp",
    )

    def __init__(self, offset: int = 0, metadata: str = "", commit_timestamp: int = 0) -> None:
        self.offset: int = offset
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp

    @staticmethod
    def decode(r: Reader, version: int) -> LegacyOffsetCommitValue:
        if version != 0:
            bad_version("LegacyOffsetCommitValue", version)
        return LegacyOffsetCommitValue(
            r.i64(),
            r.string(),
            r.i64(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("LegacyOffsetCommitValue", version)
        w.i64(self.offset)
        w.string(self.metadata)
        w.i64(self.commit_timestamp)
