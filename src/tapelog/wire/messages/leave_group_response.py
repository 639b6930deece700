"""LeaveGroupResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class MemberResponse(Message):
    """Part of LeaveGroupResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "error_code",
    )

    def __init__(self, member_id: str = "", group_instance_id: str | None = "", error_code: int = 0) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> MemberResponse:
        made = MemberResponse(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.i16(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.member_id)
            w.compact_nullable_string(self.group_instance_id)
        else:
            w.string(self.member_id)
            w.nullable_string(self.group_instance_id)
        w.i16(self.error_code)
        if version >= 4:
            w.uvarint(0)


class LeaveGroupResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "members",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, members: list[MemberResponse] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.members: list[MemberResponse] = [] if members is EMPTY else members

    @staticmethod
    def decode(r: Reader, version: int) -> LeaveGroupResponse:
        if version < 0 or version > 5:
            bad_version("LeaveGroupResponse", version)
        made = LeaveGroupResponse(
            r.i32() if version >= 1 else 0,
            r.i16(),
            [MemberResponse.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 4
            else [MemberResponse.decode(r, version) for _ in range(r.array(5))]
            if version >= 3
            else [],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("LeaveGroupResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 4:
            w.compact_array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        elif version >= 3:
            w.array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        else:
            if self.members:
                lost_field("LeaveGroupResponse.members", version)
        if version >= 4:
            w.uvarint(0)
