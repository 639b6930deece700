"""SaslHandshakeRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SaslHandshakeRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism",)

    def __init__(self, mechanism: str = "") -> None:
        self.mechanism: str = mechanism

    @staticmethod
    def decode(r: Reader, version: int) -> SaslHandshakeRequest:
        if version < 0 or version > 1:
            bad_version("SaslHandshakeRequest", version)
        return SaslHandshakeRequest(
            r.string(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("SaslHandshakeRequest", version)
        w.string(self.mechanism)
