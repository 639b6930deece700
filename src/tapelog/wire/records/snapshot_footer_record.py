"""SnapshotFooterRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SnapshotFooterRecord(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version",)

    def __init__(self, version: int = 0) -> None:
        self.version: int = version

    @staticmethod
    def decode(r: Reader, version: int) -> SnapshotFooterRecord:
        if version != 0:
            bad_version("SnapshotFooterRecord", version)
        made = SnapshotFooterRecord(
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("SnapshotFooterRecord", version)
        w.i16(self.version)
        w.uvarint(0)
