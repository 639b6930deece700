"""KRaftVersionRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class KRaftVersionRecord(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "version",
        "kraft_version",
    )

    def __init__(self, version: int = 0, kraft_version: int = 0) -> None:
        self.version: int = version
        self.kraft_version: int = kraft_version

    @staticmethod
    def decode(r: Reader, version: int) -> KRaftVersionRecord:
        if version != 0:
            bad_version("KRaftVersionRecord", version)
        made = KRaftVersionRecord(
            r.i16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("KRaftVersionRecord", version)
        w.i16(self.version)
        w.i16(self.kraft_version)
        w.uvarint(0)
