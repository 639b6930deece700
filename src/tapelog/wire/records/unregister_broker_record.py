"""UnregisterBrokerRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UnregisterBrokerRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
    )

    def __init__(self, broker_id: int = 0, broker_epoch: int = 0) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> UnregisterBrokerRecord:
        if version != 0:
            bad_version("UnregisterBrokerRecord", version)
        made = UnregisterBrokerRecord(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UnregisterBrokerRecord", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.uvarint(0)
