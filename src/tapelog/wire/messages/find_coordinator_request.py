"""FindCoordinatorRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class FindCoordinatorRequest(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "key_type",
        "coordinator_keys",
    )

    def __init__(self, key: str = "", key_type: int = 0, coordinator_keys: list[str] = EMPTY) -> None:
        self.key: str = key
        self.key_type: int = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is EMPTY else coordinator_keys

    @staticmethod
    def decode(r: Reader, version: int) -> FindCoordinatorRequest:
        if version < 0 or version > 6:
            bad_version("FindCoordinatorRequest", version)
        made = FindCoordinatorRequest(
            "" if version >= 4 else r.compact_string() if version >= 3 else r.string(),
            r.i8() if version >= 1 else 0,
            [r.compact_string() for _ in range(r.compact_array(1))] if version >= 4 else [],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("FindCoordinatorRequest", version)
        if version >= 4:
            if self.key != "":
                lost_field("FindCoordinatorRequest.key", version)
        elif version >= 3:
            w.compact_string(self.key)
        else:
            w.string(self.key)
        if version >= 1:
            w.i8(self.key_type)
        else:
            if self.key_type != 0:
                lost_field("FindCoordinatorRequest.key_type", version)
        if version >= 4:
            w.compact_array(len(self.coordinator_keys))
            for coordinator_keys_item in self.coordinator_keys:
                w.compact_string(coordinator_keys_item)
        else:
            if self.coordinator_keys:
                lost_field("FindCoordinatorRequest.coordinator_keys", version)
        if version >= 3:
            w.uvarint(0)
