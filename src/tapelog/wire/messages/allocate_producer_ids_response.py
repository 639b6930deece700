"""AllocateProducerIdsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AllocateProducerIdsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id_start",
        "producer_id_len",
    )

    def __init__(
        self, throttle_time_ms: int = 0, error_code: int = 0, producer_id_start: int = 0, producer_id_len: int = 0
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id_start: int = producer_id_start
        self.producer_id_len: int = producer_id_len

    @staticmethod
    def decode(r: Reader, version: int) -> AllocateProducerIdsResponse:
        if version != 0:
            bad_version("AllocateProducerIdsResponse", version)
        made = AllocateProducerIdsResponse(
            r.i32(),
            r.i16(),
            r.i64(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AllocateProducerIdsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.i64(self.producer_id_start)
        w.i32(self.producer_id_len)
        w.uvarint(0)
