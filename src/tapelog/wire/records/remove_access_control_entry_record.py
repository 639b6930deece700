"""RemoveAccessControlEntryRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class RemoveAccessControlEntryRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("id",)

    def __init__(self, id: bytes = ZERO_UUID) -> None:
        self.id: bytes = id

    @staticmethod
    def decode(r: Reader, version: int) -> RemoveAccessControlEntryRecord:
        if version != 0:
            bad_version("RemoveAccessControlEntryRecord", version)
        made = RemoveAccessControlEntryRecord(
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoveAccessControlEntryRecord", version)
        w.uuid(self.id)
        w.uvarint(0)
