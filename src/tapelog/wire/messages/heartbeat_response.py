"""HeartbeatResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class HeartbeatResponse(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> HeartbeatResponse:
        if version < 0 or version > 4:
            bad_version("HeartbeatResponse", version)
        made = HeartbeatResponse(
            r.i32() if version >= 1 else 0,
            r.i16(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("HeartbeatResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 4:
            w.uvarint(0)
