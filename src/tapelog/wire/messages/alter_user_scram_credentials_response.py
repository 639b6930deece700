"""AlterUserScramCredentialsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterUserScramCredentialsResult(Message):
    """Part of AlterUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "user",
        "error_code",
        "error_message",
    )

    def __init__(self, user: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> AlterUserScramCredentialsResult:
        made = AlterUserScramCredentialsResult(
            r.compact_string(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.user)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class AlterUserScramCredentialsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )

    def __init__(self, throttle_time_ms: int = 0, results: list[AlterUserScramCredentialsResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AlterUserScramCredentialsResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> AlterUserScramCredentialsResponse:
        if version != 0:
            bad_version("AlterUserScramCredentialsResponse", version)
        made = AlterUserScramCredentialsResponse(
            r.i32(),
            [AlterUserScramCredentialsResult.decode(r, version) for _ in range(r.compact_array(5))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AlterUserScramCredentialsResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.results))
        for results_item in self.results:
            results_item.encode(w, version)
        w.uvarint(0)
