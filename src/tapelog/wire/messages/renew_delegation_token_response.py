"""RenewDelegationTokenResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class RenewDelegationTokenResponse(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "expiry_timestamp_ms",
        "throttle_time_ms",
    )

    def __init__(self, error_code: int = 0, expiry_timestamp_ms: int = 0, throttle_time_ms: int = 0) -> None:
        self.error_code: int = error_code
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.throttle_time_ms: int = throttle_time_ms

    @staticmethod
    def decode(r: Reader, version: int) -> RenewDelegationTokenResponse:
        if version < 1 or version > 2:
            bad_version("RenewDelegationTokenResponse", version)
        made = RenewDelegationTokenResponse(
            r.i16(),
            r.i64(),
            r.i32(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("RenewDelegationTokenResponse", version)
        w.i16(self.error_code)
        w.i64(self.expiry_timestamp_ms)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.uvarint(0)
