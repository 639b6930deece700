"""UpdateFeaturesRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class FeatureUpdateKey(Message):
    """Part of UpdateFeaturesRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "feature",
        "max_version_level",
        "allow_downgrade",
        "upgrade_type",
    )

    def __init__(
        self, feature: str = "", max_version_level: int = 0, allow_downgrade: bool = False, upgrade_type: int = 1
    ) -> None:
        self.feature: str = feature
        self.max_version_level: int = max_version_level
        self.allow_downgrade: bool = allow_downgrade
        self.upgrade_type: int = upgrade_type

    @staticmethod
    def decode(r: Reader, version: int) -> FeatureUpdateKey:
        made = FeatureUpdateKey(
            r.compact_string(),
            r.i16(),
            False if version >= 1 else r.boolean(),
            r.i8() if version >= 1 else 1,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.feature)
        w.i16(self.max_version_level)
        if version >= 1:
            if self.allow_downgrade:
                lost_field("FeatureUpdateKey.allow_downgrade", version)
            w.i8(self.upgrade_type)
        else:
            w.boolean(self.allow_downgrade)
            if self.upgrade_type != 1:
                lost_field("FeatureUpdateKey.upgrade_type", version)
        w.uvarint(0)


class UpdateFeaturesRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "feature_updates",
        "validate_only",
    )

    def __init__(
        self, timeout_ms: int = 60000, feature_updates: list[FeatureUpdateKey] = EMPTY, validate_only: bool = False
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.feature_updates: list[FeatureUpdateKey] = [] if feature_updates is EMPTY else feature_updates
        self.validate_only: bool = validate_only

    @staticmethod
    def decode(r: Reader, version: int) -> UpdateFeaturesRequest:
        if version < 0 or version > 2:
            bad_version("UpdateFeaturesRequest", version)
        made = UpdateFeaturesRequest(
            r.i32(),
            [FeatureUpdateKey.decode(r, version) for _ in range(r.compact_array(5))],
            r.boolean() if version >= 1 else False,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("UpdateFeaturesRequest", version)
        w.i32(self.timeout_ms)
        w.compact_array(len(self.feature_updates))
        for feature_updates_item in self.feature_updates:
            feature_updates_item.encode(w, version)
        if version >= 1:
            w.boolean(self.validate_only)
        else:
            if self.validate_only:
                lost_field("UpdateFeaturesRequest.validate_only", version)
        w.uvarint(0)
