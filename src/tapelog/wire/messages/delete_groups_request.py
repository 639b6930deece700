"""DeleteGroupsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeleteGroupsRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("groups_names",)

    def __init__(self, groups_names: list[str] = EMPTY) -> None:
        self.groups_names: list[str] = [] if groups_names is EMPTY else groups_names

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteGroupsRequest:
        if version < 0 or version > 2:
            bad_version("DeleteGroupsRequest", version)
        made = DeleteGroupsRequest(
            [r.compact_string() for _ in range(r.compact_array(1))]
            if version >= 2
            else [r.string() for _ in range(r.array(1))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DeleteGroupsRequest", version)
        if version >= 2:
            w.compact_array(len(self.groups_names))
            for groups_names_item in self.groups_names:
                w.compact_string(groups_names_item)
        else:
            w.array(len(self.groups_names))
            for groups_names_item in self.groups_names:
                w.string(groups_names_item)
        if version >= 2:
            w.uvarint(0)
