"""PushTelemetryResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class PushTelemetryResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> PushTelemetryResponse:
        if version != 0:
            bad_version("PushTelemetryResponse", version)
        made = PushTelemetryResponse(
            r.i32(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("PushTelemetryResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.uvarint(0)
