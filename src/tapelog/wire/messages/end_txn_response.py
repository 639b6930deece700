"""EndTxnResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EndTxnResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
    )

    def __init__(
        self, throttle_time_ms: int = 0, error_code: int = 0, producer_id: int = -1, producer_epoch: int = -1
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> EndTxnResponse:
        if version < 0 or version > 5:
            bad_version("EndTxnResponse", version)
        made = EndTxnResponse(
            r.i32(),
            r.i16(),
            r.i64() if version >= 5 else -1,
            r.i16() if version >= 5 else -1,
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("EndTxnResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 5:
            w.i64(self.producer_id)
            w.i16(self.producer_epoch)
        if version >= 3:
            w.uvarint(0)
