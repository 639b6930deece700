"""JoinGroupResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class JoinGroupResponseMember(Message):
    """Part of JoinGroupResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "metadata",
    )

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, metadata: bytes = b"") -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.metadata: bytes = metadata

    @staticmethod
    def decode(r: Reader, version: int) -> JoinGroupResponseMember:
        made = JoinGroupResponseMember(
            r.compact_string() if version >= 6 else r.string(),
            r.compact_nullable_string() if version >= 6 else r.nullable_string() if version >= 5 else None,
            r.compact_bytestring() if version >= 6 else r.bytestring(),
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 6:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 6:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 5:
            w.nullable_string(self.group_instance_id)
        if version >= 6:
            w.compact_bytestring(self.metadata)
        else:
            w.bytestring(self.metadata)
        if version >= 6:
            w.uvarint(0)


class JoinGroupResponse(Message):
    """Versions 0 to 9."""

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    STABLE_MAX: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.generation_id: int = generation_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.leader: str = leader
        self.skip_assignment: bool = skip_assignment
        self.member_id: str = member_id
        self.members: list[JoinGroupResponseMember] = [] if members is EMPTY else members

    @staticmethod
    def decode(r: Reader, version: int) -> JoinGroupResponse:
        if version < 0 or version > 9:
            bad_version("JoinGroupResponse", version)
        made = JoinGroupResponse(
            r.i32() if version >= 2 else 0,
            r.i16(),
            r.i32(),
            r.compact_nullable_string() if version >= 7 else None,
            r.compact_nullable_string() if version >= 7 else r.compact_string() if version >= 6 else r.string(),
            r.compact_string() if version >= 6 else r.string(),
            r.boolean() if version >= 9 else False,
            r.compact_string() if version >= 6 else r.string(),
            [JoinGroupResponseMember.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 6
            else [JoinGroupResponseMember.decode(r, version) for _ in range(r.array(4))],
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 9:
            bad_version("JoinGroupResponse", version)
        if version >= 2:
            w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.i32(self.generation_id)
        if version >= 7:
            w.compact_nullable_string(self.protocol_type)
        if version >= 7:
            w.compact_nullable_string(self.protocol_name)
        elif version >= 6:
            w.compact_string(not_null(self.protocol_name, "protocol_name"))
        else:
            w.string(not_null(self.protocol_name, "protocol_name"))
        if version >= 6:
            w.compact_string(self.leader)
        else:
            w.string(self.leader)
        if version >= 9:
            w.boolean(self.skip_assignment)
        else:
            if self.skip_assignment:
                lost_field("JoinGroupResponse.skip_assignment", version)
        if version >= 6:
            w.compact_string(self.member_id)
            w.compact_array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        else:
            w.string(self.member_id)
            w.array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        if version >= 6:
            w.uvarint(0)
