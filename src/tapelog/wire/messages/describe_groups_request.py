"""DescribeGroupsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeGroupsRequest(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = (
        "groups",
        "include_authorized_operations",
    )

    def __init__(self, groups: list[str] = EMPTY, include_authorized_operations: bool = False) -> None:
        self.groups: list[str] = [] if groups is EMPTY else groups
        self.include_authorized_operations: bool = include_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeGroupsRequest:
        if version < 0 or version > 6:
            bad_version("DescribeGroupsRequest", version)
        made = DescribeGroupsRequest(
            [r.compact_string() for _ in range(r.compact_array(1))]
            if version >= 5
            else [r.string() for _ in range(r.array(1))],
            r.boolean() if version >= 3 else False,
        )
        if version >= 5:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("DescribeGroupsRequest", version)
        if version >= 5:
            w.compact_array(len(self.groups))
            for groups_item in self.groups:
                w.compact_string(groups_item)
        else:
            w.array(len(self.groups))
            for groups_item in self.groups:
                w.string(groups_item)
        if version >= 3:
            w.boolean(self.include_authorized_operations)
        else:
            if self.include_authorized_operations:
                lost_field("DescribeGroupsRequest.include_authorized_operations", version)
        if version >= 5:
            w.uvarint(0)
