"""GroupMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class MemberMetadata(Message):
    """Part of GroupMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout: int = rebalance_timeout
        self.session_timeout: int = session_timeout
        self.subscription: bytes = subscription
        self.assignment: bytes = assignment

    @staticmethod
    def decode(r: Reader, version: int) -> MemberMetadata:
        made = MemberMetadata(
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string() if version >= 3 else None,
            r.compact_string() if version >= 4 else r.string(),
            r.compact_string() if version >= 4 else r.string(),
            r.i32() if version >= 1 else -1,
            r.i32(),
            r.compact_bytestring() if version >= 4 else r.bytestring(),
            r.compact_bytestring() if version >= 4 else r.bytestring(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 4:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 4:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 3:
            w.nullable_string(self.group_instance_id)
        if version >= 4:
            w.compact_string(self.client_id)
            w.compact_string(self.client_host)
        else:
            w.string(self.client_id)
            w.string(self.client_host)
        if version >= 1:
            w.i32(self.rebalance_timeout)
        w.i32(self.session_timeout)
        if version >= 4:
            w.compact_bytestring(self.subscription)
            w.compact_bytestring(self.assignment)
        else:
            w.bytestring(self.subscription)
            w.bytestring(self.assignment)
        if version >= 4:
            w.uvarint(0)


class GroupMetadataValue(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
    )

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = EMPTY,
    ) -> None:
        self.protocol_type: str = protocol_type
        self.generation: int = generation
        self.protocol: str | None = protocol
        self.leader: str | None = leader
        self.current_state_timestamp: int = current_state_timestamp
        self.members: list[MemberMetadata] = [] if members is EMPTY else members

    @staticmethod
    def decode(r: Reader, version: int) -> GroupMetadataValue:
        if version < 0 or version > 4:
            bad_version("GroupMetadataValue", version)
        made = GroupMetadataValue(
            r.compact_string() if version >= 4 else r.string(),
            r.i32(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string(),
            r.i64() if version >= 2 else -1,
            [MemberMetadata.decode(r, version) for _ in range(r.compact_array(15))]
            if version >= 4
            else [MemberMetadata.decode(r, version) for _ in range(r.array(15))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("GroupMetadataValue", version)
        if version >= 4:
            w.compact_string(self.protocol_type)
        else:
            w.string(self.protocol_type)
        w.i32(self.generation)
        if version >= 4:
            w.compact_nullable_string(self.protocol)
            w.compact_nullable_string(self.leader)
        else:
            w.nullable_string(self.protocol)
            w.nullable_string(self.leader)
        if version >= 2:
            w.i64(self.current_state_timestamp)
        if version >= 4:
            w.compact_array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        else:
            w.array(len(self.members))
            for members_item in self.members:
                members_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
