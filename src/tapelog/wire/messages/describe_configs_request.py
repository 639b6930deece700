"""DescribeConfigsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeConfigsResource(Message):
    """Part of DescribeConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "configuration_keys",
    )

    def __init__(
        self, resource_type: int = 0, resource_name: str = "", configuration_keys: list[str] | None = EMPTY
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configuration_keys: list[str] | None = [] if configuration_keys is EMPTY else configuration_keys

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsResource:
        made = DescribeConfigsResource(
            r.i8(),
            r.compact_string() if version >= 4 else r.string(),
            (None if (n := r.compact_nullable_array(1)) < 0 else [r.compact_string() for _ in range(n)])
            if version >= 4
            else None
            if (n := r.nullable_array(1)) < 0
            else [r.string() for _ in range(n)],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i8(self.resource_type)
        if version >= 4:
            w.compact_string(self.resource_name)
            if self.configuration_keys is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.configuration_keys))
                for configuration_keys_item in self.configuration_keys:
                    w.compact_string(configuration_keys_item)
        else:
            w.string(self.resource_name)
            if self.configuration_keys is None:
                w.array(-1)
            else:
                w.array(len(self.configuration_keys))
                for configuration_keys_item in self.configuration_keys:
                    w.string(configuration_keys_item)
        if version >= 4:
            w.uvarint(0)


class DescribeConfigsRequest(Message):
    """Versions 1 to 4."""

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "resources",
        "include_synonyms",
        "include_documentation",
    )

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: list[DescribeConfigsResource] = [] if resources is EMPTY else resources
        self.include_synonyms: bool = include_synonyms
        self.include_documentation: bool = include_documentation

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsRequest:
        if version < 1 or version > 4:
            bad_version("DescribeConfigsRequest", version)
        made = DescribeConfigsRequest(
            [DescribeConfigsResource.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 4
            else [DescribeConfigsResource.decode(r, version) for _ in range(r.array(4))],
            r.boolean(),
            r.boolean() if version >= 3 else False,
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 4:
            bad_version("DescribeConfigsRequest", version)
        if version >= 4:
            w.compact_array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        else:
            w.array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        w.boolean(self.include_synonyms)
        if version >= 3:
            w.boolean(self.include_documentation)
        else:
            if self.include_documentation:
                lost_field("DescribeConfigsRequest.include_documentation", version)
        if version >= 4:
            w.uvarint(0)
