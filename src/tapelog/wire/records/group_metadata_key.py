"""GroupMetadataKey. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class GroupMetadataKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("group",)

    def __init__(self, group: str = "") -> None:
        self.group: str = group

    @staticmethod
    def decode(r: Reader, version: int) -> GroupMetadataKey:
        if version != 0:
            bad_version("GroupMetadataKey", version)
        return GroupMetadataKey(
            r.string(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("GroupMetadataKey", version)
        w.string(self.group)
