"""AlterClientQuotasResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EntityData(Message):
    """Part of AlterClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity_type",
        "entity_name",
    )

    def __init__(self, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type: str = entity_type
        self.entity_name: str | None = entity_name

    @staticmethod
    def decode(r: Reader, version: int) -> EntityData:
        made = EntityData(
            r.compact_string() if version >= 1 else r.string(),
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_string(self.entity_type)
            w.compact_nullable_string(self.entity_name)
        else:
            w.string(self.entity_type)
            w.nullable_string(self.entity_name)
        if version >= 1:
            w.uvarint(0)


class EntryData(Message):
    """Part of AlterClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "entity",
    )

    def __init__(self, error_code: int = 0, error_message: str | None = "", entity: list[EntityData] = EMPTY) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entity: list[EntityData] = [] if entity is EMPTY else entity

    @staticmethod
    def decode(r: Reader, version: int) -> EntryData:
        made = EntryData(
            r.i16(),
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
            [EntityData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [EntityData.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 1:
            w.compact_nullable_string(self.error_message)
            w.compact_array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
        else:
            w.nullable_string(self.error_message)
            w.array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)


class AlterClientQuotasResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "entries",
    )

    def __init__(self, throttle_time_ms: int = 0, entries: list[EntryData] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.entries: list[EntryData] = [] if entries is EMPTY else entries

    @staticmethod
    def decode(r: Reader, version: int) -> AlterClientQuotasResponse:
        if version < 0 or version > 1:
            bad_version("AlterClientQuotasResponse", version)
        made = AlterClientQuotasResponse(
            r.i32(),
            [EntryData.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 1
            else [EntryData.decode(r, version) for _ in range(r.array(5))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("AlterClientQuotasResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 1:
            w.compact_array(len(self.entries))
            for entries_item in self.entries:
                entries_item.encode(w, version)
        else:
            w.array(len(self.entries))
            for entries_item in self.entries:
                entries_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)
