"""ListGroupsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListGroupsRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "states_filter",
        "types_filter",
    )

    def __init__(self, states_filter: list[str] = EMPTY, types_filter: list[str] = EMPTY) -> None:
        self.states_filter: list[str] = [] if states_filter is EMPTY else states_filter
        self.types_filter: list[str] = [] if types_filter is EMPTY else types_filter

    @staticmethod
    def decode(r: Reader, version: int) -> ListGroupsRequest:
        if version < 0 or version > 5:
            bad_version("ListGroupsRequest", version)
        made = ListGroupsRequest(
            [r.compact_string() for _ in range(r.compact_array(1))] if version >= 4 else [],
            [r.compact_string() for _ in range(r.compact_array(1))] if version >= 5 else [],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("ListGroupsRequest", version)
        if version >= 4:
            w.compact_array(len(self.states_filter))
            for states_filter_item in self.states_filter:
                w.compact_string(states_filter_item)
        else:
            if self.states_filter:
                lost_field("ListGroupsRequest.states_filter", version)
        if version >= 5:
            w.compact_array(len(self.types_filter))
            for types_filter_item in self.types_filter:
                w.compact_string(types_filter_item)
        else:
            if self.types_filter:
                lost_field("ListGroupsRequest.types_filter", version)
        if version >= 3:
            w.uvarint(0)
