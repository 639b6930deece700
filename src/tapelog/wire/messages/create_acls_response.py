"""CreateAclsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AclCreationResult(Message):
    """Part of CreateAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
    )

    def __init__(self, error_code: int = 0, error_message: str | None = "") -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> AclCreationResult:
        made = AclCreationResult(
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        if version >= 2:
            w.uvarint(0)


class CreateAclsResponse(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )

    def __init__(self, throttle_time_ms: int = 0, results: list[AclCreationResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AclCreationResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> CreateAclsResponse:
        if version < 1 or version > 3:
            bad_version("CreateAclsResponse", version)
        made = CreateAclsResponse(
            r.i32(),
            [AclCreationResult.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 2
            else [AclCreationResult.decode(r, version) for _ in range(r.array(4))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("CreateAclsResponse", version)
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
