"""SyncGroupResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class SyncGroupResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "protocol_type",
        "protocol_name",
        "assignment",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignment: bytes = assignment

    @staticmethod
    def decode(r: Reader, version: int) -> SyncGroupResponse:
        if version < 0 or version > 5:
            bad_version("SyncGroupResponse", version)
        made = SyncGroupResponse(
            r.i32() if version >= 1 else 0,
            r.i16(),
            r.compact_nullable_string() if version >= 5 else None,
            r.compact_nullable_string() if version >= 5 else None,
            r.compact_bytestring() if version >= 4 else r.bytestring(),
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("SyncGroupResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 5:
            w.compact_nullable_string(self.protocol_type)
            w.compact_nullable_string(self.protocol_name)
        if version >= 4:
            w.compact_bytestring(self.assignment)
        else:
            w.bytestring(self.assignment)
        if version >= 4:
            w.uvarint(0)
