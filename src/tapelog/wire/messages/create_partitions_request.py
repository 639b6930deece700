"""CreatePartitionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CreatePartitionsAssignment(Message):
    """Part of CreatePartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("broker_ids",)

    def __init__(self, broker_ids: list[int] = EMPTY) -> None:
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids

    @staticmethod
    def decode(r: Reader, version: int) -> CreatePartitionsAssignment:
        made = CreatePartitionsAssignment(
            r.i32_items(r.compact_array(4)) if version >= 2 else r.i32_items(r.array(4)),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_array(len(self.broker_ids))
            w.i32_items(self.broker_ids)
        else:
            w.array(len(self.broker_ids))
            w.i32_items(self.broker_ids)
        if version >= 2:
            w.uvarint(0)


class CreatePartitionsTopic(Message):
    """Part of CreatePartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "count",
        "assignments",
    )

    def __init__(
        self, name: str = "", count: int = 0, assignments: list[CreatePartitionsAssignment] | None = EMPTY
    ) -> None:
        self.name: str = name
        self.count: int = count
        self.assignments: list[CreatePartitionsAssignment] | None = [] if assignments is EMPTY else assignments

    @staticmethod
    def decode(r: Reader, version: int) -> CreatePartitionsTopic:
        made = CreatePartitionsTopic(
            r.compact_string() if version >= 2 else r.string(),
            r.i32(),
            (
                None
                if (n := r.compact_nullable_array(2)) < 0
                else [CreatePartitionsAssignment.decode(r, version) for _ in range(n)]
            )
            if version >= 2
            else None
            if (n := r.nullable_array(2)) < 0
            else [CreatePartitionsAssignment.decode(r, version) for _ in range(n)],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        w.i32(self.count)
        if version >= 2:
            if self.assignments is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.assignments))
                for assignments_item in self.assignments:
                    assignments_item.encode(w, version)
        else:
            if self.assignments is None:
                w.array(-1)
            else:
                w.array(len(self.assignments))
                for assignments_item in self.assignments:
                    assignments_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class CreatePartitionsRequest(Message):
    """Versions 0 to 3."""

    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
        "validate_only",
    )

    def __init__(
        self, topics: list[CreatePartitionsTopic] = EMPTY, timeout_ms: int = 0, validate_only: bool = False
    ) -> None:
        self.topics: list[CreatePartitionsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only

    @staticmethod
    def decode(r: Reader, version: int) -> CreatePartitionsRequest:
        if version < 0 or version > 3:
            bad_version("CreatePartitionsRequest", version)
        made = CreatePartitionsRequest(
            [CreatePartitionsTopic.decode(r, version) for _ in range(r.compact_array(7))]
            if version >= 2
            else [CreatePartitionsTopic.decode(r, version) for _ in range(r.array(7))],
            r.i32(),
            r.boolean(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 3:
            bad_version("CreatePartitionsRequest", version)
        if version >= 2:
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        w.i32(self.timeout_ms)
        w.boolean(self.validate_only)
        if version >= 2:
            w.uvarint(0)
