"""ApiVersionsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ApiVersion(Message):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "api_key",
        "min_version",
        "max_version",
    )

    def __init__(self, api_key: int = 0, min_version: int = 0, max_version: int = 0) -> None:
        self.api_key: int = api_key
        self.min_version: int = min_version
        self.max_version: int = max_version

    @staticmethod
    def decode(r: Reader, version: int) -> ApiVersion:
        made = ApiVersion(
            r.i16(),
            r.i16(),
            r.i16(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.api_key)
        w.i16(self.min_version)
        w.i16(self.max_version)
        if version >= 3:
            w.uvarint(0)


class SupportedFeatureKey(Message):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "min_version",
        "max_version",
    )

    def __init__(self, name: str = "", min_version: int = 0, max_version: int = 0) -> None:
        self.name: str = name
        self.min_version: int = min_version
        self.max_version: int = max_version

    @staticmethod
    def decode(r: Reader, version: int) -> SupportedFeatureKey:
        made = SupportedFeatureKey(
            r.compact_string(),
            r.i16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i16(self.min_version)
        w.i16(self.max_version)
        w.uvarint(0)


class FinalizedFeatureKey(Message):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "max_version_level",
        "min_version_level",
    )

    def __init__(self, name: str = "", max_version_level: int = 0, min_version_level: int = 0) -> None:
        self.name: str = name
        self.max_version_level: int = max_version_level
        self.min_version_level: int = min_version_level

    @staticmethod
    def decode(r: Reader, version: int) -> FinalizedFeatureKey:
        made = FinalizedFeatureKey(
            r.compact_string(),
            r.i16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i16(self.max_version_level)
        w.i16(self.min_version_level)
        w.uvarint(0)


class ApiVersionsResponse(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = EMPTY,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code: int = error_code
        self.api_keys: list[ApiVersion] = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms: int = throttle_time_ms
        self.supported_features: list[SupportedFeatureKey] = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch: int = finalized_features_epoch
        self.finalized_features: list[FinalizedFeatureKey] = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready: bool = zk_migration_ready

    @staticmethod
    def decode(r: Reader, version: int) -> ApiVersionsResponse:
        if version < 0 or version > 4:
            bad_version("ApiVersionsResponse", version)
        made = ApiVersionsResponse(
            r.i16(),
            [ApiVersion.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 3
            else [ApiVersion.decode(r, version) for _ in range(r.array(6))],
            r.i32() if version >= 1 else 0,
        )
        if version >= 3:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.supported_features = [
                        SupportedFeatureKey.decode(r, version) for _ in range(r.compact_array(6))
                    ]
                elif tag == 1:
                    made.finalized_features_epoch = r.i64()
                elif tag == 2:
                    made.finalized_features = [
                        FinalizedFeatureKey.decode(r, version) for _ in range(r.compact_array(6))
                    ]
                elif tag == 3:
                    made.zk_migration_ready = r.boolean()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("ApiVersionsResponse", version)
        w.i16(self.error_code)
        if version >= 3:
            w.compact_array(len(self.api_keys))
            for api_keys_item in self.api_keys:
                api_keys_item.encode(w, version)
        else:
            w.array(len(self.api_keys))
            for api_keys_item in self.api_keys:
                api_keys_item.encode(w, version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        if version >= 3:
            tags = 0
            if self.supported_features:
                tags += 1
            if self.finalized_features_epoch != -1:
                tags += 1
            if self.finalized_features:
                tags += 1
            if self.zk_migration_ready:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.supported_features:
                    field = Writer()
                    field.compact_array(len(self.supported_features))
                    for supported_features_item in self.supported_features:
                        supported_features_item.encode(field, version)
                    w.tagged(0, field)
                if self.finalized_features_epoch != -1:
                    field = Writer()
                    field.i64(self.finalized_features_epoch)
                    w.tagged(1, field)
                if self.finalized_features:
                    field = Writer()
                    field.compact_array(len(self.finalized_features))
                    for finalized_features_item in self.finalized_features:
                        finalized_features_item.encode(field, version)
                    w.tagged(2, field)
                if self.zk_migration_ready:
                    field = Writer()
                    field.boolean(self.zk_migration_ready)
                    w.tagged(3, field)
