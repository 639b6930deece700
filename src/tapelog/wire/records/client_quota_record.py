"""ClientQuotaRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EntityData(Message):
    """Part of ClientQuotaRecord."""

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
            r.compact_string(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.entity_type)
        w.compact_nullable_string(self.entity_name)
        w.uvarint(0)


class ClientQuotaRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity",
        "key",
        "value",
        "remove",
    )

    def __init__(
        self, entity: list[EntityData] = EMPTY, key: str = "", value: float = 0.0, remove: bool = False
    ) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove

    @staticmethod
    def decode(r: Reader, version: int) -> ClientQuotaRecord:
        if version != 0:
            bad_version("ClientQuotaRecord", version)
        made = ClientQuotaRecord(
            [EntityData.decode(r, version) for _ in range(r.compact_array(3))],
            r.compact_string(),
            r.f64(),
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ClientQuotaRecord", version)
        w.compact_array(len(self.entity))
        for entity_item in self.entity:
            entity_item.encode(w, version)
        w.compact_string(self.key)
        w.f64(self.value)
        w.boolean(self.remove)
        w.uvarint(0)
