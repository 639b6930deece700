"""IncrementalAlterConfigsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterConfigsResourceResponse(Message):
    """Part of IncrementalAlterConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
    )

    def __init__(
        self, error_code: int = 0, error_message: str | None = "", resource_type: int = 0, resource_name: str = ""
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name

    @staticmethod
    def decode(r: Reader, version: int) -> AlterConfigsResourceResponse:
        made = AlterConfigsResourceResponse(
            r.i16(),
            r.compact_nullable_string() if version >= 1 else r.nullable_string(),
            r.i8(),
            r.compact_string() if version >= 1 else r.string(),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 1:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        w.i8(self.resource_type)
        if version >= 1:
            w.compact_string(self.resource_name)
        else:
            w.string(self.resource_name)
        if version >= 1:
            w.uvarint(0)


class IncrementalAlterConfigsResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "responses",
    )

    def __init__(self, throttle_time_ms: int = 0, responses: list[AlterConfigsResourceResponse] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: list[AlterConfigsResourceResponse] = [] if responses is EMPTY else responses

    @staticmethod
    def decode(r: Reader, version: int) -> IncrementalAlterConfigsResponse:
        if version < 0 or version > 1:
            bad_version("IncrementalAlterConfigsResponse", version)
        made = IncrementalAlterConfigsResponse(
            r.i32(),
            [AlterConfigsResourceResponse.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 1
            else [AlterConfigsResourceResponse.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("IncrementalAlterConfigsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 1:
            w.compact_array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        else:
            w.array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        if version >= 1:
            w.uvarint(0)
