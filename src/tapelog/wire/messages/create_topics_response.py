"""CreateTopicsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class CreatableTopicConfigs(Message):
    """Part of CreateTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableTopicConfigs:
        made = CreatableTopicConfigs(
            r.compact_string(),
            r.compact_nullable_string(),
            r.boolean(),
            r.i8(),
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_nullable_string(self.value)
        w.boolean(self.read_only)
        w.i8(self.config_source)
        w.boolean(self.is_sensitive)
        w.uvarint(0)


class CreatableTopicResult(Message):
    """Part of CreateTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = EMPTY,
        topic_config_error_code: int = 0,
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topic_config_error_code: int = topic_config_error_code
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.configs: list[CreatableTopicConfigs] | None = [] if configs is EMPTY else configs

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableTopicResult:
        made = CreatableTopicResult(
            r.compact_string() if version >= 5 else r.string(),
            r.uuid() if version >= 7 else ZERO_UUID,
            r.i16(),
            r.compact_nullable_string() if version >= 5 else r.nullable_string(),
            r.i32() if version >= 5 else -1,
            r.i16() if version >= 5 else -1,
            (
                None
                if (n := r.compact_nullable_array(6)) < 0
                else [CreatableTopicConfigs.decode(r, version) for _ in range(n)]
            )
            if version >= 5
            else [],
        )
        if version >= 5:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.topic_config_error_code = r.i16()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 5:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        if version >= 7:
            w.uuid(self.topic_id)
        w.i16(self.error_code)
        if version >= 5:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        if version >= 5:
            w.i32(self.num_partitions)
            w.i16(self.replication_factor)
            if self.configs is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.configs))
                for configs_item in self.configs:
                    configs_item.encode(w, version)
        if version >= 5:
            tags = 0
            if self.topic_config_error_code != 0:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.topic_config_error_code != 0:
                    field = Writer()
                    field.i16(self.topic_config_error_code)
                    w.tagged(0, field)


class CreateTopicsResponse(Message):
    """Versions 2 to 7."""

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    STABLE_MAX: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )

    def __init__(self, throttle_time_ms: int = 0, topics: list[CreatableTopicResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[CreatableTopicResult] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> CreateTopicsResponse:
        if version < 2 or version > 7:
            bad_version("CreateTopicsResponse", version)
        made = CreateTopicsResponse(
            r.i32(),
            [CreatableTopicResult.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 5
            else [CreatableTopicResult.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 7:
            bad_version("CreateTopicsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 5:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 5:
            w.uvarint(0)
