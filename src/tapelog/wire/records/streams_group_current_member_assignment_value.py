"""StreamsGroupCurrentMemberAssignmentValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TaskIds(Message):
    """Part of StreamsGroupCurrentMemberAssignmentValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "partitions",
        "assignment_epochs",
    )

    def __init__(
        self, subtopology_id: str = "", partitions: list[int] = EMPTY, assignment_epochs: list[int] | None = EMPTY
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.assignment_epochs: list[int] | None = [] if assignment_epochs is EMPTY else assignment_epochs

    @staticmethod
    def decode(r: Reader, version: int) -> TaskIds:
        made = TaskIds(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.assignment_epochs = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        tags = 0
        if self.assignment_epochs is None or self.assignment_epochs:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.assignment_epochs is None or self.assignment_epochs:
                field = Writer()
                if self.assignment_epochs is None:
                    field.compact_array(-1)
                else:
                    field.compact_array(len(self.assignment_epochs))
                    field.i32_items(self.assignment_epochs)
                w.tagged(0, field)


class StreamsGroupCurrentMemberAssignmentValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
        active_tasks_pending_revocation: list[TaskIds] = EMPTY,
        standby_tasks_pending_revocation: list[TaskIds] = EMPTY,
        warmup_tasks_pending_revocation: list[TaskIds] = EMPTY,
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.active_tasks: list[TaskIds] = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is EMPTY else warmup_tasks
        self.active_tasks_pending_revocation: list[TaskIds] = (
            [] if active_tasks_pending_revocation is EMPTY else active_tasks_pending_revocation
        )
        self.standby_tasks_pending_revocation: list[TaskIds] = (
            [] if standby_tasks_pending_revocation is EMPTY else standby_tasks_pending_revocation
        )
        self.warmup_tasks_pending_revocation: list[TaskIds] = (
            [] if warmup_tasks_pending_revocation is EMPTY else warmup_tasks_pending_revocation
        )

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupCurrentMemberAssignmentValue:
        if version != 0:
            bad_version("StreamsGroupCurrentMemberAssignmentValue", version)
        made = StreamsGroupCurrentMemberAssignmentValue(
            r.i32(),
            r.i32(),
            r.i8(),
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupCurrentMemberAssignmentValue", version)
        w.i32(self.member_epoch)
        w.i32(self.previous_member_epoch)
        w.i8(self.state)
        w.compact_array(len(self.active_tasks))
        for active_tasks_item in self.active_tasks:
            active_tasks_item.encode(w, version)
        w.compact_array(len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks:
            standby_tasks_item.encode(w, version)
        w.compact_array(len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks:
            warmup_tasks_item.encode(w, version)
        w.compact_array(len(self.active_tasks_pending_revocation))
        for active_tasks_pending_revocation_item in self.active_tasks_pending_revocation:
            active_tasks_pending_revocation_item.encode(w, version)
        w.compact_array(len(self.standby_tasks_pending_revocation))
        for standby_tasks_pending_revocation_item in self.standby_tasks_pending_revocation:
            standby_tasks_pending_revocation_item.encode(w, version)
        w.compact_array(len(self.warmup_tasks_pending_revocation))
        for warmup_tasks_pending_revocation_item in self.warmup_tasks_pending_revocation:
            warmup_tasks_pending_revocation_item.encode(w, version)
        w.uvarint(0)
