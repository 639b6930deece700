"""EnvelopeResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EnvelopeResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "response_data",
        "error_code",
    )

    def __init__(self, response_data: bytes | None = None, error_code: int = 0) -> None:
        self.response_data: bytes | None = response_data
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> EnvelopeResponse:
        if version != 0:
            bad_version("EnvelopeResponse", version)
        made = EnvelopeResponse(
            r.compact_nullable_bytestring(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("EnvelopeResponse", version)
        w.compact_nullable_bytestring(self.response_data)
        w.i16(self.error_code)
        w.uvarint(0)
