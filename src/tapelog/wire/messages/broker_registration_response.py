"""BrokerRegistrationResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class BrokerRegistrationResponse(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "broker_epoch",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, broker_epoch: int = -1) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.broker_epoch: int = broker_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerRegistrationResponse:
        if version < 0 or version > 4:
            bad_version("BrokerRegistrationResponse", version)
        made = BrokerRegistrationResponse(
            r.i32(),
            r.i16(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("BrokerRegistrationResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.i64(self.broker_epoch)
        w.uvarint(0)
