"""LeaveGroupRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class MemberIdentity(Message):
    """Part of LeaveGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "reason",
    )

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, reason: str | None = None) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.reason: str | None = reason

    @staticmethod
    def decode(r: Reader, version: int) -> MemberIdentity:
        made = MemberIdentity(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.compact_nullable_string() if version >= 5 else None,
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
        if version >= 5:
            w.compact_nullable_string(self.reason)
        if version >= 4:
            w.uvarint(0)


class LeaveGroupRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "members",
    )

    def __init__(self, group_id: str = "", member_id: str = "", members: list[MemberIdentity] = EMPTY) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.members: list[MemberIdentity] = [] if members is EMPTY else members

    @staticmethod
    def decode(r: Reader, version: int) -> LeaveGroupRequest:
        if version < 0 or version > 5:
            bad_version("LeaveGroupRequest", version)
        made = LeaveGroupRequest(
            r.compact_string() if version >= 4 else r.string(),
            "" if version >= 3 else r.string(),
            [MemberIdentity.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 4
            else [MemberIdentity.decode(r, version) for _ in range(r.array(3))]
            if version >= 3
            else [],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("LeaveGroupRequest", version)
        if version >= 4:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        if version >= 3:
            if self.member_id != "":
                lost_field("LeaveGroupRequest.member_id", version)
        else:
            w.string(self.member_id)
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
                lost_field("LeaveGroupRequest.members", version)
        if version >= 4:
            w.uvarint(0)
