"""JoinGroupRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class JoinGroupRequestProtocol(Message):
    """Part of JoinGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "metadata",
    )

    def __init__(self, name: str = "", metadata: bytes = b"") -> None:
        self.name: str = name
        self.metadata: bytes = metadata

    @staticmethod
    def decode(r: Reader, version: int) -> JoinGroupRequestProtocol:
        made = JoinGroupRequestProtocol(
            r.compact_string() if version >= 6 else r.string(),
            r.compact_bytestring() if version >= 6 else r.bytestring(),
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 6:
            w.compact_string(self.name)
            w.compact_bytestring(self.metadata)
        else:
            w.string(self.name)
            w.bytestring(self.metadata)
        if version >= 6:
            w.uvarint(0)


class JoinGroupRequest(Message):
    """Versions 0 to 9."""

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    STABLE_MAX: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = EMPTY,
        reason: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.session_timeout_ms: int = session_timeout_ms
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str = protocol_type
        self.protocols: list[JoinGroupRequestProtocol] = [] if protocols is EMPTY else protocols
        self.reason: str | None = reason

    @staticmethod
    def decode(r: Reader, version: int) -> JoinGroupRequest:
        if version < 0 or version > 9:
            bad_version("JoinGroupRequest", version)
        made = JoinGroupRequest(
            r.compact_string() if version >= 6 else r.string(),
            r.i32(),
            r.i32() if version >= 1 else -1,
            r.compact_string() if version >= 6 else r.string(),
            r.compact_nullable_string() if version >= 6 else r.nullable_string() if version >= 5 else None,
            r.compact_string() if version >= 6 else r.string(),
            [JoinGroupRequestProtocol.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 6
            else [JoinGroupRequestProtocol.decode(r, version) for _ in range(r.array(3))],
            r.compact_nullable_string() if version >= 8 else None,
        )
        if version >= 6:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 9:
            bad_version("JoinGroupRequest", version)
        if version >= 6:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        w.i32(self.session_timeout_ms)
        if version >= 1:
            w.i32(self.rebalance_timeout_ms)
        if version >= 6:
            w.compact_string(self.member_id)
        else:
            w.string(self.member_id)
        if version >= 6:
            w.compact_nullable_string(self.group_instance_id)
        elif version >= 5:
            w.nullable_string(self.group_instance_id)
        else:
            if self.group_instance_id is not None:
                lost_field("JoinGroupRequest.group_instance_id", version)
        if version >= 6:
            w.compact_string(self.protocol_type)
            w.compact_array(len(self.protocols))
            for protocols_item in self.protocols:
                protocols_item.encode(w, version)
        else:
            w.string(self.protocol_type)
            w.array(len(self.protocols))
            for protocols_item in self.protocols:
                protocols_item.encode(w, version)
        if version >= 8:
            w.compact_nullable_string(self.reason)
        if version >= 6:
            w.uvarint(0)
