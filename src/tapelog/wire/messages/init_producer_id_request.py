"""InitProducerIdRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class InitProducerIdRequest(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable2_pc",
        "keep_prepared_txn",
    )

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.enable2_pc: bool = enable2_pc
        self.keep_prepared_txn: bool = keep_prepared_txn

    @staticmethod
    def decode(r: Reader, version: int) -> InitProducerIdRequest:
        if version < 0 or version > 6:
            bad_version("InitProducerIdRequest", version)
        made = InitProducerIdRequest(
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.i32(),
            r.i64() if version >= 3 else -1,
            r.i16() if version >= 3 else -1,
            r.boolean() if version >= 6 else False,
            r.boolean() if version >= 6 else False,
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("InitProducerIdRequest", version)
        if version >= 2:
            w.compact_nullable_string(self.transactional_id)
        else:
            w.nullable_string(self.transactional_id)
        w.i32(self.transaction_timeout_ms)
        if version >= 3:
            w.i64(self.producer_id)
            w.i16(self.producer_epoch)
        else:
            if self.producer_id != -1:
                lost_field("InitProducerIdRequest.producer_id", version)
            if self.producer_epoch != -1:
                lost_field("InitProducerIdRequest.producer_epoch", version)
        if version >= 6:
            w.boolean(self.enable2_pc)
            w.boolean(self.keep_prepared_txn)
        else:
            if self.enable2_pc:
                lost_field("InitProducerIdRequest.enable2_pc", version)
            if self.keep_prepared_txn:
                lost_field("InitProducerIdRequest.keep_prepared_txn", version)
        if version >= 2:
            w.uvarint(0)
