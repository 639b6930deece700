"""DescribeClientQuotasRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ComponentData(Message):
    """Part of DescribeClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity_type",
        "match_type",
        "match",
    )

    def __init__(self, entity_type: str = "", match_type: int = 0, match: str | None = "") -> None:
        self.entity_type: str = entity_type
        self.match_type: int = match_type
        self.match: str | None = match

    @staticmethod
    def decode(r: Reader, version: int) -> ComponentData:
        made = ComponentData(
            r.compact_string() if version >= 1 else r.string(),
            r.i8(),
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_string(self.entity_type)
        else:
            w.string(self.entity_type)
        w.i8(self.match_type)
        if version >= 1:
            w.compact_nullable_string(self.match)
        else:
            w.nullable_string(self.match)
        if version >= 1:
            w.uvarint(0)


class DescribeClientQuotasRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "components",
        "strict",
    )

    def __init__(self, components: list[ComponentData] = EMPTY, strict: bool = False) -> None:
        self.components: list[ComponentData] = [] if components is EMPTY else components
        self.strict: bool = strict

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeClientQuotasRequest:
        if version < 0 or version > 1:
            bad_version("DescribeClientQuotasRequest", version)
        made = DescribeClientQuotasRequest(
            [ComponentData.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 1
            else [ComponentData.decode(r, version) for _ in range(r.array(4))],
            r.boolean(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("DescribeClientQuotasRequest", version)
        if version >= 1:
            w.compact_array(len(self.components))
            for components_item in self.components:
                components_item.encode(w, version)
        else:
            w.array(len(self.components))
            for components_item in self.components:
                components_item.encode(w, version)
        w.boolean(self.strict)
        if version >= 1:
            w.uvarint(0)
