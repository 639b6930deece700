"""HeartbeatRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class HeartbeatRequest(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
    )

    def __init__(
        self, group_id: str = "", generation_id: int = 0, member_id: str = "", group_instance_id: str | None = None
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id

    @staticmethod
    def decode(r: Reader, version: int) -> HeartbeatRequest:
        if version < 0 or version > 4:
            bad_version("HeartbeatRequest", version)
        made = HeartbeatRequest(
            r.compact_string() if version >= 4 else r.string(),
            r.i32(),
            r.compact_string() if version >= 4 else r.string(),
            r.compact_nullable_string() if version >= 4 else r.nullable_string() if version >= 3 else None,
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("HeartbeatRequest", version)
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
                lost_field("HeartbeatRequest.group_instance_id", version)
        if version >= 4:
            w.uvarint(0)
