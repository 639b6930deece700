"""InitProducerIdResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class InitProducerIdResponse(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.ongoing_txn_producer_id: int = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch: int = ongoing_txn_producer_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> InitProducerIdResponse:
        if version < 0 or version > 6:
            bad_version("InitProducerIdResponse", version)
        made = InitProducerIdResponse(
            r.i32(),
            r.i16(),
            r.i64(),
            r.i16(),
            r.i64() if version >= 6 else -1,
            r.i16() if version >= 6 else -1,
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("InitProducerIdResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        if version >= 6:
            w.i64(self.ongoing_txn_producer_id)
            w.i16(self.ongoing_txn_producer_epoch)
        else:
            if self.ongoing_txn_producer_id != -1:
                lost_field("InitProducerIdResponse.ongoing_txn_producer_id", version)
            if self.ongoing_txn_producer_epoch != -1:
                lost_field("InitProducerIdResponse.ongoing_txn_producer_epoch", version)
        if version >= 2:
            w.uvarint(0)
