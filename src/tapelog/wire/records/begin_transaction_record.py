"""BeginTransactionRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class BeginTransactionRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str | None = None) -> None:
        self.name: str | None = name

    @staticmethod
    def decode(r: Reader, version: int) -> BeginTransactionRecord:
        if version != 0:
            bad_version("BeginTransactionRecord", version)
        made = BeginTransactionRecord()
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.name = r.compact_nullable_string()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("BeginTransactionRecord", version)
        tags = 0
        if self.name is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.name is not None:
                field = Writer()
                field.compact_string(self.name)
                w.tagged(0, field)
