"""ConsumerGroupDescribeRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConsumerGroupDescribeRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_ids",
        "include_authorized_operations",
    )

    def __init__(self, group_ids: list[str] = EMPTY, include_authorized_operations: bool = False) -> None:
        self.group_ids: list[str] = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations: bool = include_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupDescribeRequest:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupDescribeRequest", version)
        made = ConsumerGroupDescribeRequest(
            [r.compact_string() for _ in range(r.compact_array(1))],
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ConsumerGroupDescribeRequest", version)
        w.compact_array(len(self.group_ids))
        for group_ids_item in self.group_ids:
            w.compact_string(group_ids_item)
        w.boolean(self.include_authorized_operations)
        w.uvarint(0)
