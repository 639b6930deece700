"""ExpireDelegationTokenRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ExpireDelegationTokenRequest(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "hmac",
        "expiry_time_period_ms",
    )

    def __init__(self, hmac: bytes = b"", expiry_time_period_ms: int = 0) -> None:
        self.hmac: bytes = hmac
        self.expiry_time_period_ms: int = expiry_time_period_ms

    @staticmethod
    def decode(r: Reader, version: int) -> ExpireDelegationTokenRequest:
        if version < 1 or version > 2:
            bad_version("ExpireDelegationTokenRequest", version)
        made = ExpireDelegationTokenRequest(
            r.compact_bytestring() if version >= 2 else r.bytestring(),
            r.i64(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("ExpireDelegationTokenRequest", version)
        if version >= 2:
            w.compact_bytestring(self.hmac)
        else:
            w.bytestring(self.hmac)
        w.i64(self.expiry_time_period_ms)
        if version >= 2:
            w.uvarint(0)
