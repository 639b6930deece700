"""RemoveDelegationTokenRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class RemoveDelegationTokenRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("token_id",)

    def __init__(self, token_id: str = "") -> None:
        self.token_id: str = token_id

    @staticmethod
    def decode(r: Reader, version: int) -> RemoveDelegationTokenRecord:
        if version != 0:
            bad_version("RemoveDelegationTokenRecord", version)
        made = RemoveDelegationTokenRecord(
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoveDelegationTokenRecord", version)
        w.compact_string(self.token_id)
        w.uvarint(0)
