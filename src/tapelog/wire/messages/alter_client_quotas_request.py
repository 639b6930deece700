"""AlterClientQuotasRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EntityData(Message):
    """Part of AlterClientQuotasRequest."""

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


class OpData(Message):
    """Part of AlterClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
        "remove",
    )

    def __init__(self, key: str = "", value: float = 0.0, remove: bool = False) -> None:
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove

    @staticmethod
    def decode(r: Reader, version: int) -> OpData:
        made = OpData(
            r.compact_string() if version >= 1 else r.string(),
            r.f64(),
            r.boolean(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_string(self.key)
        else:
            w.string(self.key)
        w.f64(self.value)
        w.boolean(self.remove)
        if version >= 1:
            w.uvarint(0)


class EntryData(Message):
    """Part of AlterClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity",
        "ops",
    )

    def __init__(self, entity: list[EntityData] = EMPTY, ops: list[OpData] = EMPTY) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.ops: list[OpData] = [] if ops is EMPTY else ops

    @staticmethod
    def decode(r: Reader, version: int) -> EntryData:
        made = EntryData(
            [EntityData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [EntityData.decode(r, version) for _ in range(r.array(3))],
            [OpData.decode(r, version) for _ in range(r.compact_array(11))]
            if version >= 1
            else [OpData.decode(r, version) for _ in range(r.array(11))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
            w.compact_array(len(self.ops))
            for ops_item in self.ops:
                ops_item.encode(w, version)
        else:
            w.array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
            w.array(len(self.ops))
            for ops_item in self.ops:
                ops_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)


class AlterClientQuotasRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "entries",
        "validate_only",
    )

    def __init__(self, entries: list[EntryData] = EMPTY, validate_only: bool = False) -> None:
        self.entries: list[EntryData] = [] if entries is EMPTY else entries
        self.validate_only: bool = validate_only

    @staticmethod
    def decode(r: Reader, version: int) -> AlterClientQuotasRequest:
        if version < 0 or version > 1:
            bad_version("AlterClientQuotasRequest", version)
        made = AlterClientQuotasRequest(
            [EntryData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [EntryData.decode(r, version) for _ in range(r.array(3))],
            r.boolean(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("AlterClientQuotasRequest", version)
        if version >= 1:
            w.compact_array(len(self.entries))
            for entries_item in self.entries:
                entries_item.encode(w, version)
        else:
            w.array(len(self.entries))
            for entries_item in self.entries:
                entries_item.encode(w, version)
        w.boolean(self.validate_only)
        if version >= 1:
            w.uvarint(0)
