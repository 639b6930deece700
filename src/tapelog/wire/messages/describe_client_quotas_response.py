"""DescribeClientQuotasResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EntityData(Message):
    """Part of DescribeClientQuotasResponse."""

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


class ValueData(Message):
    """Part of DescribeClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )

    def __init__(self, key: str = "", value: float = 0.0) -> None:
        self.key: str = key
        self.value: float = value

    @staticmethod
    def decode(r: Reader, version: int) -> ValueData:
        made = ValueData(
            r.compact_string() if version >= 1 else r.string(),
            r.f64(),
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
        if version >= 1:
            w.uvarint(0)


class EntryData(Message):
    """Part of DescribeClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity",
        "values",
    )

    def __init__(self, entity: list[EntityData] = EMPTY, values: list[ValueData] = EMPTY) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.values: list[ValueData] = [] if values is EMPTY else values

    @staticmethod
    def decode(r: Reader, version: int) -> EntryData:
        made = EntryData(
            [EntityData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 1
            else [EntityData.decode(r, version) for _ in range(r.array(3))],
            [ValueData.decode(r, version) for _ in range(r.compact_array(10))]
            if version >= 1
            else [ValueData.decode(r, version) for _ in range(r.array(10))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
            w.compact_array(len(self.values))
            for values_item in self.values:
                values_item.encode(w, version)
        else:
            w.array(len(self.entity))
            for entity_item in self.entity:
                entity_item.encode(w, version)
            w.array(len(self.values))
            for values_item in self.values:
                values_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)


class DescribeClientQuotasResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "entries",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entries: list[EntryData] | None = [] if entries is EMPTY else entries

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeClientQuotasResponse:
        if version < 0 or version > 1:
            bad_version("DescribeClientQuotasResponse", version)
        made = DescribeClientQuotasResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
            (None if (n := r.compact_nullable_array(3)) < 0 else [EntryData.decode(r, version) for _ in range(n)])
            if version >= 1
            else None
            if (n := r.nullable_array(3)) < 0
            else [EntryData.decode(r, version) for _ in range(n)],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("DescribeClientQuotasResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 1:
            w.compact_nullable_string(self.error_message)
            if self.entries is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.entries))
                for entries_item in self.entries:
                    entries_item.encode(w, version)
        else:
            w.nullable_string(self.error_message)
            if self.entries is None:
                w.array(-1)
            else:
                w.array(len(self.entries))
                for entries_item in self.entries:
                    entries_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)
