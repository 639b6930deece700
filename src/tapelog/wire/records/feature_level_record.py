"""FeatureLevelRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class FeatureLevelRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "feature_level",
    )

    def __init__(self, name: str = "", feature_level: int = 0) -> None:
        self.name: str = name
        self.feature_level: int = feature_level

    @staticmethod
    def decode(r: Reader, version: int) -> FeatureLevelRecord:
        if version != 0:
            bad_version("FeatureLevelRecord", version)
        made = FeatureLevelRecord(
            r.compact_string(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("FeatureLevelRecord", version)
        w.compact_string(self.name)
        w.i16(self.feature_level)
        w.uvarint(0)
