"""EndTxnRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EndTxnRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "committed",
    )

    def __init__(
        self, transactional_id: str = "", producer_id: int = 0, producer_epoch: int = 0, committed: bool = False
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.committed: bool = committed

    @staticmethod
    def decode(r: Reader, version: int) -> EndTxnRequest:
        if version < 0 or version > 5:
            bad_version("EndTxnRequest", version)
        made = EndTxnRequest(
            r.compact_string() if version >= 3 else r.string(),
            r.i64(),
            r.i16(),
            r.boolean(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("EndTxnRequest", version)
        if version >= 3:
            w.compact_string(self.transactional_id)
        else:
            w.string(self.transactional_id)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        w.boolean(self.committed)
        if version >= 3:
            w.uvarint(0)
