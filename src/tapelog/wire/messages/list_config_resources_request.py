"""ListConfigResourcesRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListConfigResourcesRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_types",)

    def __init__(self, resource_types: list[int] = EMPTY) -> None:
        self.resource_types: list[int] = [] if resource_types is EMPTY else resource_types

    @staticmethod
    def decode(r: Reader, version: int) -> ListConfigResourcesRequest:
        if version < 0 or version > 1:
            bad_version("ListConfigResourcesRequest", version)
        made = ListConfigResourcesRequest(
            [r.i8() for _ in range(r.compact_array(1))] if version >= 1 else [],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ListConfigResourcesRequest", version)
        if version >= 1:
            w.compact_array(len(self.resource_types))
            for resource_types_item in self.resource_types:
                w.i8(resource_types_item)
        else:
            if self.resource_types:
                lost_field("ListConfigResourcesRequest.resource_types", version)
        w.uvarint(0)
