"""DeleteShareGroupOffsetsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class DeleteShareGroupOffsetsResponseTopic(Message):
    """Part of DeleteShareGroupOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "topic_id",
        "error_code",
        "error_message",
    )

    def __init__(
        self, topic_name: str = "", topic_id: bytes = ZERO_UUID, error_code: int = 0, error_message: str | None = None
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: bytes = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteShareGroupOffsetsResponseTopic:
        made = DeleteShareGroupOffsetsResponseTopic(
            r.compact_string(),
            r.uuid(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic_name)
        w.uuid(self.topic_id)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class DeleteShareGroupOffsetsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: list[DeleteShareGroupOffsetsResponseTopic] = [] if responses is EMPTY else responses

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteShareGroupOffsetsResponse:
        if version != 0:
            bad_version("DeleteShareGroupOffsetsResponse", version)
        made = DeleteShareGroupOffsetsResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [DeleteShareGroupOffsetsResponseTopic.decode(r, version) for _ in range(r.compact_array(21))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DeleteShareGroupOffsetsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.responses))
        for responses_item in self.responses:
            responses_item.encode(w, version)
        w.uvarint(0)
