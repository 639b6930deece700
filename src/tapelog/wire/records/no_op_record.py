"""NoOpRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class NoOpRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        pass

    @staticmethod
    def decode(r: Reader, version: int) -> NoOpRecord:
        if version != 0:
            bad_version("NoOpRecord", version)
        made = NoOpRecord()
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("NoOpRecord", version)
        w.uvarint(0)
