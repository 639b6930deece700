"""BrokerHeartbeatResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class BrokerHeartbeatResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.is_caught_up: bool = is_caught_up
        self.is_fenced: bool = is_fenced
        self.should_shut_down: bool = should_shut_down

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerHeartbeatResponse:
        if version < 0 or version > 2:
            bad_version("BrokerHeartbeatResponse", version)
        made = BrokerHeartbeatResponse(
            r.i32(),
            r.i16(),
            r.boolean(),
            r.boolean(),
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("BrokerHeartbeatResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.boolean(self.is_caught_up)
        w.boolean(self.is_fenced)
        w.boolean(self.should_shut_down)
        w.uvarint(0)
