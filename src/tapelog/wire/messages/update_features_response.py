"""UpdateFeaturesResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UpdatableFeatureResult(Message):
    """Part of UpdateFeaturesResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "feature",
        "error_code",
        "error_message",
    )

    def __init__(self, feature: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.feature: str = feature
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> UpdatableFeatureResult:
        made = UpdatableFeatureResult(
            r.compact_string(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.feature)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class UpdateFeaturesResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: list[UpdatableFeatureResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> UpdateFeaturesResponse:
        if version < 0 or version > 2:
            bad_version("UpdateFeaturesResponse", version)
        made = UpdateFeaturesResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [] if version >= 2 else [UpdatableFeatureResult.decode(r, version) for _ in range(r.compact_array(5))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("UpdateFeaturesResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        if version < 2:
            w.compact_array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        w.uvarint(0)
