"""DescribeConfigsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeConfigsSynonym(Message):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
        "source",
    )

    def __init__(self, name: str = "", value: str | None = "", source: int = 0) -> None:
        self.name: str = name
        self.value: str | None = value
        self.source: int = source

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsSynonym:
        made = DescribeConfigsSynonym(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.i8(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.name)
            w.compact_nullable_string(self.value)
        else:
            w.string(self.name)
            w.nullable_string(self.value)
        w.i8(self.source)
        if version >= 4:
            w.uvarint(0)


class DescribeConfigsResourceResult(Message):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive
        self.synonyms: list[DescribeConfigsSynonym] = [] if synonyms is EMPTY else synonyms
        self.config_type: int = config_type
        self.documentation: str | None = documentation

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsResourceResult:
        made = DescribeConfigsResourceResult(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.boolean(),
            r.i8(),
            r.boolean(),
            [DescribeConfigsSynonym.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 4
            else [DescribeConfigsSynonym.decode(r, version) for _ in range(r.array(4))],
            r.i8() if version >= 3 else 0,
            r.compact_nullable_string() if version >= 4 else r.nullable_string() if version >= 3 else "",
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.name)
            w.compact_nullable_string(self.value)
        else:
            w.string(self.name)
            w.nullable_string(self.value)
        w.boolean(self.read_only)
        w.i8(self.config_source)
        w.boolean(self.is_sensitive)
        if version >= 4:
            w.compact_array(len(self.synonyms))
            for synonyms_item in self.synonyms:
                synonyms_item.encode(w, version)
        else:
            w.array(len(self.synonyms))
            for synonyms_item in self.synonyms:
                synonyms_item.encode(w, version)
        if version >= 3:
            w.i8(self.config_type)
        if version >= 4:
            w.compact_nullable_string(self.documentation)
        elif version >= 3:
            w.nullable_string(self.documentation)
        if version >= 4:
            w.uvarint(0)


class DescribeConfigsResult(Message):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "configs",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = EMPTY,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: list[DescribeConfigsResourceResult] = [] if configs is EMPTY else configs

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsResult:
        made = DescribeConfigsResult(
            r.i16(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.i8(),
            r.compact_string() if version >= 4 else r.string(),
            [DescribeConfigsResourceResult.decode(r, version) for _ in range(r.compact_array(9))]
            if version >= 4
            else [DescribeConfigsResourceResult.decode(r, version) for _ in range(r.array(9))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 4:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        w.i8(self.resource_type)
        if version >= 4:
            w.compact_string(self.resource_name)
            w.compact_array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        else:
            w.string(self.resource_name)
            w.array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)


class DescribeConfigsResponse(Message):
    """Versions 1 to 4."""

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )

    def __init__(self, throttle_time_ms: int = 0, results: list[DescribeConfigsResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[DescribeConfigsResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeConfigsResponse:
        if version < 1 or version > 4:
            bad_version("DescribeConfigsResponse", version)
        made = DescribeConfigsResponse(
            r.i32(),
            [DescribeConfigsResult.decode(r, version) for _ in range(r.compact_array(7))]
            if version >= 4
            else [DescribeConfigsResult.decode(r, version) for _ in range(r.array(7))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 4:
            bad_version("DescribeConfigsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 4:
            w.compact_array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        else:
            w.array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
