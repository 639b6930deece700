"""ConsumerGroupMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConsumerGroupMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 3
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
    def decode(r: Reader, version: int) -> ConsumerGroupMetadataValue:
        if version != 0:
            bad_version("ConsumerGroupMetadataValue", version)
        made = ConsumerGroupMetadataValue(
            r.i32(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.metadata_hash = r.i64()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupMetadataValue", version)
        w.i32(self.epoch)
        tags = 0
        if self.metadata_hash != 0:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.metadata_hash != 0:
                field = Writer()
                field.i64(self.metadata_hash)
                w.tagged(0, field)
