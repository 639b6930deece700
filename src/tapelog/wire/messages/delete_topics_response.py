"""DeleteTopicsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, not_null
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class DeletableTopicResult(Message):
    """Part of DeleteTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
    )

    def __init__(
        self, name: str | None = "", topic_id: bytes = ZERO_UUID, error_code: int = 0, error_message: str | None = None
    ) -> None:
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> DeletableTopicResult:
        made = DeletableTopicResult(
            r.compact_nullable_string() if version >= 6 else r.compact_string() if version >= 4 else r.string(),
            r.uuid() if version >= 6 else ZERO_UUID,
            r.i16(),
            r.compact_nullable_string() if version >= 5 else None,
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 6:
            w.compact_nullable_string(self.name)
        elif version >= 4:
            w.compact_string(not_null(self.name, "name"))
        else:
            w.string(not_null(self.name, "name"))
        if version >= 6:
            w.uuid(self.topic_id)
        w.i16(self.error_code)
        if version >= 5:
            w.compact_nullable_string(self.error_message)
        if version >= 4:
            w.uvarint(0)


class DeleteTopicsResponse(Message):
    """Versions 1 to 6."""

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "responses",
    )

    def __init__(self, throttle_time_ms: int = 0, responses: list[DeletableTopicResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: list[DeletableTopicResult] = [] if responses is EMPTY else responses

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteTopicsResponse:
        if version < 1 or version > 6:
            bad_version("DeleteTopicsResponse", version)
        made = DeleteTopicsResponse(
            r.i32(),
            [DeletableTopicResult.decode(r, version) for _ in range(r.compact_array(4))]
            if version >= 4
            else [DeletableTopicResult.decode(r, version) for _ in range(r.array(4))],
        )
        if version >= 4:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 6:
            bad_version("DeleteTopicsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 4:
            w.compact_array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        else:
            w.array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        if version >= 4:
            w.uvarint(0)
