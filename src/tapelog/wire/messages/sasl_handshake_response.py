"""SaslHandshakeResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SaslHandshakeResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "mechanisms",
    )

    def __init__(self, error_code: int = 0, mechanisms: list[str] = EMPTY) -> None:
        self.error_code: int = error_code
        self.mechanisms: list[str] = [] if mechanisms is EMPTY else mechanisms

    @staticmethod
    def decode(r: Reader, version: int) -> SaslHandshakeResponse:
        if version < 0 or version > 1:
            bad_version("SaslHandshakeResponse", version)
        return SaslHandshakeResponse(
            r.i16(),
            [r.string() for _ in range(r.array(2))],
        )

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("SaslHandshakeResponse", version)
        w.i16(self.error_code)
        w.array(len(self.mechanisms))
        for mechanisms_item in self.mechanisms:
            w.string(mechanisms_item)
