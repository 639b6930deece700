"""ConfigRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConfigRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "name",
        "value",
    )

    def __init__(self, resource_type: int = 0, resource_name: str = "", name: str = "", value: str | None = "") -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.name: str = name
        self.value: str | None = value

    @staticmethod
    def decode(r: Reader, version: int) -> ConfigRecord:
        if version != 0:
            bad_version("ConfigRecord", version)
        made = ConfigRecord(
            r.i8(),
            r.compact_string(),
            r.compact_string(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConfigRecord", version)
        w.i8(self.resource_type)
        w.compact_string(self.resource_name)
        w.compact_string(self.name)
        w.compact_nullable_string(self.value)
        w.uvarint(0)
