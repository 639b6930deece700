"""ResponseHeader. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ResponseHeader(Message):
    """Versions 0 to 1."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("correlation_id",)

    def __init__(self, correlation_id: int = 0) -> None:
        self.correlation_id: int = correlation_id

    @staticmethod
    def decode(r: Reader, version: int) -> ResponseHeader:
        if version < 0 or version > 1:
            bad_version("ResponseHeader", version)
        made = ResponseHeader(
            r.i32(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ResponseHeader", version)
        w.i32(self.correlation_id)
        if version >= 1:
            w.uvarint(0)
