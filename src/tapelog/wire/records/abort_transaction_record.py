"""AbortTransactionRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AbortTransactionRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("reason",)

    def __init__(self, reason: str | None = None) -> None:
        self.reason: str | None = reason

    @staticmethod
    def decode(r: Reader, version: int) -> AbortTransactionRecord:
        if version != 0:
            bad_version("AbortTransactionRecord", version)
        made = AbortTransactionRecord()
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.reason = r.compact_nullable_string()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AbortTransactionRecord", version)
        tags = 0
        if self.reason is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.reason is not None:
                field = Writer()
                field.compact_string(self.reason)
                w.tagged(0, field)
