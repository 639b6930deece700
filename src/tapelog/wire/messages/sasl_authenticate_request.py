"""SaslAuthenticateRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SaslAuthenticateRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("auth_bytes",)

    def __init__(self, auth_bytes: bytes = b"") -> None:
        self.auth_bytes: bytes = auth_bytes

    @staticmethod
    def decode(r: Reader, version: int) -> SaslAuthenticateRequest:
        if version < 0 or version > 2:
            bad_version("SaslAuthenticateRequest", version)
        made = SaslAuthenticateRequest(
            r.compact_bytestring() if version >= 2 else r.bytestring(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("SaslAuthenticateRequest", version)
        if version >= 2:
            w.compact_bytestring(self.auth_bytes)
        else:
            w.bytestring(self.auth_bytes)
        if version >= 2:
            w.uvarint(0)
