"""CreateTopicsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CreatableReplicaAssignment(Message):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "broker_ids",
    )

    def __init__(self, partition_index: int = 0, broker_ids: list[int] = EMPTY) -> None:
        self.partition_index: int = partition_index
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableReplicaAssignment:
        made = CreatableReplicaAssignment(
            r.i32(),
            r.i32_items(r.compact_array(4)) if version >= 5 else r.i32_items(r.array(4)),
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        if version >= 5:
            w.compact_array(len(self.broker_ids))
            w.i32_items(self.broker_ids)
        else:
            w.array(len(self.broker_ids))
            w.i32_items(self.broker_ids)
        if version >= 5:
            w.uvarint(0)


class CreatableTopicConfig(Message):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
    )

    def __init__(self, name: str = "", value: str | None = "") -> None:
        self.name: str = name
        self.value: str | None = value

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableTopicConfig:
        made = CreatableTopicConfig(
            r.compact_string() if version >= 5 else r.string(),
            r.compact_nullable_string() if version >= 5 else r.nullable_string(),
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 5:
            w.compact_string(self.name)
            w.compact_nullable_string(self.value)
        else:
            w.string(self.name)
            w.nullable_string(self.value)
        if version >= 5:
            w.uvarint(0)


class CreatableTopic(Message):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "num_partitions",
        "replication_factor",
        "assignments",
        "configs",
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = EMPTY,
        configs: list[CreatableTopicConfig] = EMPTY,
    ) -> None:
        self.name: str = name
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.assignments: list[CreatableReplicaAssignment] = [] if assignments is EMPTY else assignments
        self.configs: list[CreatableTopicConfig] = [] if configs is EMPTY else configs

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableTopic:
        made = CreatableTopic(
            r.compact_string() if version >= 5 else r.string(),
            r.i32(),
            r.i16(),
            [CreatableReplicaAssignment.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 5
            else [CreatableReplicaAssignment.decode(r, version) for _ in range(r.array(6))],
            [CreatableTopicConfig.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 5
            else [CreatableTopicConfig.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 5:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        w.i32(self.num_partitions)
        w.i16(self.replication_factor)
        if version >= 5:
            w.compact_array(len(self.assignments))
            for assignments_item in self.assignments:
                assignments_item.encode(w, version)
            w.compact_array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        else:
            w.array(len(self.assignments))
            for assignments_item in self.assignments:
                assignments_item.encode(w, version)
            w.array(len(self.configs))
            for configs_item in self.configs:
                configs_item.encode(w, version)
        if version >= 5:
            w.uvarint(0)


class CreateTopicsRequest(Message):
    """Versions 2 to 7."""

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    STABLE_MAX: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
        "validate_only",
    )

    def __init__(
        self, topics: list[CreatableTopic] = EMPTY, timeout_ms: int = 60000, validate_only: bool = False
    ) -> None:
        self.topics: list[CreatableTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only

    @staticmethod
    def decode(r: Reader, version: int) -> CreateTopicsRequest:
        if version < 2 or version > 7:
            bad_version("CreateTopicsRequest", version)
        made = CreateTopicsRequest(
            [CreatableTopic.decode(r, version) for _ in range(r.compact_array(10))]
            if version >= 5
            else [CreatableTopic.decode(r, version) for _ in range(r.array(10))],
            r.i32(),
            r.boolean(),
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 2 or version > 7:
            bad_version("CreateTopicsRequest", version)
        if version >= 5:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.i32(self.timeout_ms)
        w.boolean(self.validate_only)
        if version >= 5:
            w.uvarint(0)
