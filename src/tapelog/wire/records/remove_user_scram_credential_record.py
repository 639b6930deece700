"""RemoveUserScramCredentialRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class RemoveUserScramCredentialRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
    )

    def __init__(self, name: str = "", mechanism: int = 0) -> None:
        self.name: str = name
        self.mechanism: int = mechanism

    @staticmethod
    def decode(r: Reader, version: int) -> RemoveUserScramCredentialRecord:
        if version != 0:
            bad_version("RemoveUserScramCredentialRecord", version)
        made = RemoveUserScramCredentialRecord(
            r.compact_string(),
            r.i8(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoveUserScramCredentialRecord", version)
        w.compact_string(self.name)
        w.i8(self.mechanism)
        w.uvarint(0)
