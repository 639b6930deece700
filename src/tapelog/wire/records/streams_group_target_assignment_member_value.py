"""StreamsGroupTargetAssignmentMemberValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TaskIds(Message):
    """Part of StreamsGroupTargetAssignmentMemberValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "partitions",
    )

    def __init__(self, subtopology_id: str = "", partitions: list[int] = EMPTY) -> None:
        self.subtopology_id: str = subtopology_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TaskIds:
        made = TaskIds(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class StreamsGroupTargetAssignmentMemberValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    def __init__(
        self,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
    ) -> None:
        self.active_tasks: list[TaskIds] = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is EMPTY else warmup_tasks

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupTargetAssignmentMemberValue:
        if version != 0:
            bad_version("StreamsGroupTargetAssignmentMemberValue", version)
        made = StreamsGroupTargetAssignmentMemberValue(
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupTargetAssignmentMemberValue", version)
        w.compact_array(len(self.active_tasks))
        for active_tasks_item in self.active_tasks:
            active_tasks_item.encode(w, version)
        w.compact_array(len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks:
            standby_tasks_item.encode(w, version)
        w.compact_array(len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks:
            warmup_tasks_item.encode(w, version)
        w.uvarint(0)
