"""SaslAuthenticateResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SaslAuthenticateResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "auth_bytes",
        "session_lifetime_ms",
    )

    def __init__(
        self, error_code: int = 0, error_message: str | None = "", auth_bytes: bytes = b"", session_lifetime_ms: int = 0
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.auth_bytes: bytes = auth_bytes
        self.session_lifetime_ms: int = session_lifetime_ms

    @staticmethod
    def decode(r: Reader, version: int) -> SaslAuthenticateResponse:
        if version < 0 or version > 2:
            bad_version("SaslAuthenticateResponse", version)
        made = SaslAuthenticateResponse(
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.compact_bytestring() if version >= 2 else r.bytestring(),
            r.i64() if version >= 1 else 0,
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("SaslAuthenticateResponse", version)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
            w.compact_bytestring(self.auth_bytes)
        else:
            w.nullable_string(self.error_message)
            w.bytestring(self.auth_bytes)
        if version >= 1:
            w.i64(self.session_lifetime_ms)
        if version >= 2:
            w.uvarint(0)
