"""EndTxnMarker. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EndTxnMarker(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("coordinator_epoch",)

    def __init__(self, coordinator_epoch: int = 0) -> None:
        self.coordinator_epoch: int = coordinator_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> EndTxnMarker:
        if version != 0:
            bad_version("EndTxnMarker", version)
        return EndTxnMarker(
            r.i32(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("EndTxnMarker", version)
        w.i32(self.coordinator_epoch)
