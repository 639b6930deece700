"""AddOffsetsToTxnRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AddOffsetsToTxnRequest(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "group_id",
    )

    def __init__(
        self, transactional_id: str = "", producer_id: int = 0, producer_epoch: int = 0, group_id: str = ""
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.group_id: str = group_id

    @staticmethod
    def decode(r: Reader, version: int) -> AddOffsetsToTxnRequest:
        if version < 0 or version > 4:
            bad_version("AddOffsetsToTxnRequest", version)
        made = AddOffsetsToTxnRequest(
            r.compact_string() if version >= 3 else r.string(),
            r.i64(),
            r.i16(),
            r.compact_string() if version >= 3 else r.string(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("AddOffsetsToTxnRequest", version)
        if version >= 3:
            w.compact_string(self.transactional_id)
        else:
            w.string(self.transactional_id)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        if version >= 3:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        if version >= 3:
            w.uvarint(0)
