"""DescribeGroupsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribedGroupMember(Message):
    """Part of DescribeGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.member_metadata: bytes = member_metadata
        self.member_assignment: bytes = member_assignment

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedGroupMember:
        made = DescribedGroupMember(
            r.compact_string() if version >= 5 else r.string(),
            r.compact_nullable_string() if version >= 5 else r.nullable_string() if version >= 4 else None,
            r.compact_string() if version >= 5 else r.string(),
            r.compact_string() if version >= 5 else r.string(),
            r.compact_bytestring() if version >= 5 else r.bytestring(),
            r.compact_bytestring() if version >= 5 else r.bytestring(),
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 5:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 5:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 4:
            w.nullable_string(self.group_instance_id)
        if version >= 5:
            w.compact_string(self.client_id)
            w.compact_string(self.client_host)
            w.compact_bytestring(self.member_metadata)
            w.compact_bytestring(self.member_assignment)
        else:
            w.string(self.client_id)
            w.string(self.client_host)
            w.bytestring(self.member_metadata)
            w.bytestring(self.member_assignment)
        if version >= 5:
            w.uvarint(0)


class DescribedGroup(Message):
    """Part of DescribeGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.protocol_type: str = protocol_type
        self.protocol_data: str = protocol_data
        self.members: list[DescribedGroupMember] = [] if members is EMPTY else members
        self.authorized_operations: int = authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedGroup:
        made = DescribedGroup(
            r.i16(),
            r.compact_nullable_string() if version >= 6 else None,
            r.compact_string() if version >= 5 else r.string(),
            r.compact_string() if version >= 5 else r.string(),
            r.compact_string() if version >= 5 else r.string(),
            r.compact_string() if version >= 5 else r.string(),
            [DescribedGroupMember.decode(r, version) for _ in range(r.compact_array(7))]
            if version >= 5
            else [DescribedGroupMember.decode(r, version) for _ in range(r.array(7))],
            r.i32() if version >= 3 else -2147483648,
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 6:
            w.compact_nullable_string(self.error_message)
        else:
            if self.error_message is not None:
                lost_field("DescribedGroup.error_message", version)
        if version >= 5:
            w.compact_string(self.group_id)
            w.compact_string(self.group_state)
            w.compact_string(self.protocol_type)
            w.compact_string(self.protocol_data)
            w.compact_array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        else:
            w.string(self.group_id)
            w.string(self.group_state)
            w.string(self.protocol_type)
            w.string(self.protocol_data)
            w.array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        if version >= 3:
            w.i32(self.authorized_operations)
        else:
            if self.authorized_operations != -2147483648:
                lost_field("DescribedGroup.authorized_operations", version)
        if version >= 5:
            w.uvarint(0)


class DescribeGroupsResponse(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "groups",
    )

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeGroupsResponse:
        if version < 0 or version > 6:
            bad_version("DescribeGroupsResponse", version)
        made = DescribeGroupsResponse(
            r.i32() if version >= 1 else 0,
            [DescribedGroup.decode(r, version) for _ in range(r.compact_array(12))]
            if version >= 5
            else [DescribedGroup.decode(r, version) for _ in range(r.array(12))],
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("DescribeGroupsResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        if version >= 5:
            w.compact_array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        else:
            w.array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        if version >= 5:
            w.uvarint(0)
