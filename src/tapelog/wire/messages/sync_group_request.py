"""SyncGroupRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SyncGroupRequestAssignment(Message):
    """Part of SyncGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "assignment",
    )

    def __init__(self, member_id: str = "", assignment: bytes = b"") -> None:
        self.member_id: str = member_id
        self.assignment: bytes = assignment

    @staticmethod
    def decode(r: Reader, version: int) -> SyncGroupRequestAssignment:
        made = SyncGroupRequestAssignment(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_bytestring() if version >= 4 else r.bytestring(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.member_id)
            w.compact_bytestring(self.assignment)
        else:
            w.string(self.member_id)
            w.bytestring(self.assignment)
        if version >= 4:
            w.uvarint(0)


class SyncGroupRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = EMPTY,
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignments: list[SyncGroupRequestAssignment] = [] if assignments is EMPTY else assignments

    @staticmethod
    def decode(r: Reader, version: int) -> SyncGroupRequest:
        if version < 0 or version > 5:
            bad_version("SyncGroupRequest", version)
        made = SyncGroupRequest(
            r.compact_string() if version >= 4 else r.string(),
            r.i32(),
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string() if version >= 3 else None,
            r.compact_nullable_string() if version >= 5 else None,
            r.compact_nullable_string() if version >= 5 else None,
            [SyncGroupRequestAssignment.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 4
            else [SyncGroupRequestAssignment.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("SyncGroupRequest", version)
        if version >= 4:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        w.i32(self.generation_id)
        if version >= 4:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 4:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 3:
            w.nullable_string(self.group_instance_id)
        else:
            if self.group_instance_id is not None:
                lost_field("SyncGroupRequest.group_instance_id", version)
        if version >= 5:
            w.compact_nullable_string(self.protocol_type)
            w.compact_nullable_string(self.protocol_name)
        if version >= 4:
            w.compact_array(len(self.assignments))
            for assignments_item in self.assignments:
                assignments_item.encode(w, version)
        else:
            w.array(len(self.assignments))
            for assignments_item in self.assignments:
                assignments_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
