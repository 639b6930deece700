"""AlterConfigsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterableConfig(Message):
    """Part of AlterConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
    )

    def __init__(self, name: str = "", value: str | None = "") -> None:
        self.name: str = name
        self.value: str | None = value

    @staticmethod
    def decode(r: Reader, version: int) -> AlterableConfig:
        made = AlterableConfig(
            r.compact_string() if version >= 2 else r.string(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.name)
            w.compact_nullable_string(self.value)
        else:
            w.string(self.name)
            w.nullable_string(self.value)
        if version >= 2:
            w.uvarint(0)


class AlterConfigsResource(Message):
    """Part of AlterConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "configs",
    )

    def __init__(self, resource_type: int = 0, resource_name: str = "", configs: list[AlterableConfig] = EMPTY) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: list[AlterableConfig] = [] if configs is EMPTY else configs

    @staticmethod
    def decode(r: Reader, version: int) -> AlterConfigsResource:
        made = AlterConfigsResource(
            r.i8(),
            r.compact_string() if version >= 2 else r.string(),
            [AlterableConfig.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [AlterableConfig.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i8(self.resource_type)
        if version >= 2:
            w.compact_string(self.resource_name)
            w.compact_array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        else:
            w.string(self.resource_name)
            w.array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class AlterConfigsRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 33
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "resources",
        "validate_only",
    )

    def __init__(self, resources: list[AlterConfigsResource] = EMPTY, validate_only: bool = False) -> None:
        self.resources: list[AlterConfigsResource] = [] if resources is EMPTY else resources
        self.validate_only: bool = validate_only

    @staticmethod
    def decode(r: Reader, version: int) -> AlterConfigsRequest:
        if version < 0 or version > 2:
            bad_version("AlterConfigsRequest", version)
        made = AlterConfigsRequest(
            [AlterConfigsResource.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 2
            else [AlterConfigsResource.decode(r, version) for _ in range(r.array(4))],
            r.boolean(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("AlterConfigsRequest", version)
        if version >= 2:
            w.compact_array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        else:
            w.array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        w.boolean(self.validate_only)
        if version >= 2:
            w.uvarint(0)
