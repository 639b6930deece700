"""UnfenceBrokerRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UnfenceBrokerRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "id",
        "epoch",
    )

    def __init__(self, id: int = 0, epoch: int = 0) -> None:
        self.id: int = id
        self.epoch: int = epoch

    @staticmethod
    def decode(r: Reader, version: int) -> UnfenceBrokerRecord:
        if version != 0:
            bad_version("UnfenceBrokerRecord", version)
        made = UnfenceBrokerRecord(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UnfenceBrokerRecord", version)
        w.i32(self.id)
        w.i64(self.epoch)
        w.uvarint(0)
