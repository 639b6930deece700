"""ListGroupsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListedGroup(Message):
    """Part of ListGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "protocol_type",
        "group_state",
        "group_type",
    )

    def __init__(
        self, group_id: str = "", protocol_type: str = "", group_state: str = "", group_type: str = ""
    ) -> None:
        self.group_id: str = group_id
        self.protocol_type: str = protocol_type
        self.group_state: str = group_state
        self.group_type: str = group_type

    @staticmethod
    def decode(r: Reader, version: int) -> ListedGroup:
        made = ListedGroup(
            r.compact_string() if version >= 3 else r.string(),
            r.compact_string() if version >= 3 else r.string(),
            r.compact_string() if version >= 4 else "",
            r.compact_string() if version >= 5 else "",
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 3:
            w.compact_string(self.group_id)
            w.compact_string(self.protocol_type)
        else:
            w.string(self.group_id)
            w.string(self.protocol_type)
        if version >= 4:
            w.compact_string(self.group_state)
        if version >= 5:
            w.compact_string(self.group_type)
        if version >= 3:
            w.uvarint(0)


class ListGroupsResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "groups",
    )

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, groups: list[ListedGroup] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.groups: list[ListedGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> ListGroupsResponse:
        if version < 0 or version > 5:
            bad_version("ListGroupsResponse", version)
        made = ListGroupsResponse(
            r.i32() if version >= 1 else 0,
            r.i16(),
            [ListedGroup.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 3
            else [ListedGroup.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("ListGroupsResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 3:
            w.compact_array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        else:
            w.array(len(self.groups))
            for groups_item in self.groups:
                groups_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)
