"""ShareGroupMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ShareGroupMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "metadata_hash",
    )

    def __init__(self, epoch: int = 0, metadata_hash: int = 0) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupMetadataValue:
        if version != 0:
            bad_version("ShareGroupMetadataValue", version)
        made = ShareGroupMetadataValue(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupMetadataValue", version)
        w.i32(self.epoch)
        w.i64(self.metadata_hash)
        w.uvarint(0)
