"""ConsumerGroupMetadataKey. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConsumerGroupMetadataKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)

    def __init__(self, group_id: str = "") -> None:
        self.group_id: str = group_id

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupMetadataKey:
        if version != 0:
            bad_version("ConsumerGroupMetadataKey", version)
        return ConsumerGroupMetadataKey(
            r.string(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupMetadataKey", version)
        w.string(self.group_id)
