"""DeleteGroupsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeletableGroupResult(Message):
    """Part of DeleteGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "error_code",
    )

    def __init__(self, group_id: str = "", error_code: int = 0) -> None:
        self.group_id: str = group_id
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> DeletableGroupResult:
        made = DeletableGroupResult(
            r.compact_string() if version >= 2 else r.string(),
            r.i16(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.group_id)
        else:
            w.string(self.group_id)
        w.i16(self.error_code)
        if version >= 2:
            w.uvarint(0)


class DeleteGroupsResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )

    def __init__(self, throttle_time_ms: int = 0, results: list[DeletableGroupResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[DeletableGroupResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteGroupsResponse:
        if version < 0 or version > 2:
            bad_version("DeleteGroupsResponse", version)
        made = DeleteGroupsResponse(
            r.i32(),
            [DeletableGroupResult.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 2
            else [DeletableGroupResult.decode(r, version) for _ in range(r.array(4))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DeleteGroupsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.compact_array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        else:
            w.array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
