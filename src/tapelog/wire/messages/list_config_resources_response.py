"""ListConfigResourcesResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ConfigResource(Message):
    """Part of ListConfigResourcesResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_name",
        "resource_type",
    )

    def __init__(self, resource_name: str = "", resource_type: int = 16) -> None:
        self.resource_name: str = resource_name
        self.resource_type: int = resource_type

    @staticmethod
    def decode(r: Reader, version: int) -> ConfigResource:
        made = ConfigResource(
            r.compact_string(),
            r.i8() if version >= 1 else 16,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.resource_name)
        if version >= 1:
            w.i8(self.resource_type)
        w.uvarint(0)


class ListConfigResourcesResponse(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "config_resources",
    )

    def __init__(
        self, throttle_time_ms: int = 0, error_code: int = 0, config_resources: list[ConfigResource] = EMPTY
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.config_resources: list[ConfigResource] = [] if config_resources is EMPTY else config_resources

    @staticmethod
    def decode(r: Reader, version: int) -> ListConfigResourcesResponse:
        if version < 0 or version > 1:
            bad_version("ListConfigResourcesResponse", version)
        made = ListConfigResourcesResponse(
            r.i32(),
            r.i16(),
            [ConfigResource.decode(r, version) for _ in range(r.compact_array(2))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("ListConfigResourcesResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_array(len(self.config_resources))
        for config_resources_item in self.config_resources:
            config_resources_item.encode(w, version)
        w.uvarint(0)
