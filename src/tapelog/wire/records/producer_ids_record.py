"""ProducerIdsRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ProducerIdsRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "next_producer_id",
    )

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, next_producer_id: int = 0) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.next_producer_id: int = next_producer_id

    @staticmethod
    def decode(r: Reader, version: int) -> ProducerIdsRecord:
        if version != 0:
            bad_version("ProducerIdsRecord", version)
        made = ProducerIdsRecord(
            r.i32(),
            r.i64(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ProducerIdsRecord", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.i64(self.next_producer_id)
        w.uvarint(0)
