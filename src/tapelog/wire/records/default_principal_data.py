"""DefaultPrincipalData. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DefaultPrincipalData(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "type",
        "name",
        "token_authenticated",
    )

    def __init__(self, type: str = "", name: str = "", token_authenticated: bool = False) -> None:
        self.type: str = type
        self.name: str = name
        self.token_authenticated: bool = token_authenticated

    @staticmethod
    def decode(r: Reader, version: int) -> DefaultPrincipalData:
        if version != 0:
            bad_version("DefaultPrincipalData", version)
        made = DefaultPrincipalData(
            r.compact_string(),
            r.compact_string(),
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DefaultPrincipalData", version)
        w.compact_string(self.type)
        w.compact_string(self.name)
        w.boolean(self.token_authenticated)
        w.uvarint(0)
