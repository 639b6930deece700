"""ControlRecordTypeSchema. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ControlRecordTypeSchema(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("type",)

    def __init__(self, type: int = 0) -> None:
        self.type: int = type

    @staticmethod
    def decode(r: Reader, version: int) -> ControlRecordTypeSchema:
        if version != 0:
            bad_version("ControlRecordTypeSchema", version)
        return ControlRecordTypeSchema(
            r.i16(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ControlRecordTypeSchema", version)
        w.i16(self.type)
