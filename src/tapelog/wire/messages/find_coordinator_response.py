"""FindCoordinatorResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class Coordinator(Message):
    """Part of FindCoordinatorResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "node_id",
        "host",
        "port",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key: str = key
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> Coordinator:
        made = Coordinator(
            r.compact_string(),
            r.i32(),
            r.compact_string(),
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.key)
        w.i32(self.node_id)
        w.compact_string(self.host)
        w.i32(self.port)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.uvarint(0)


class FindCoordinatorResponse(Message):
    """Versions 0 to 6."""

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    STABLE_MAX: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.coordinators: list[Coordinator] = [] if coordinators is EMPTY else coordinators

    @staticmethod
    def decode(r: Reader, version: int) -> FindCoordinatorResponse:
        if version < 0 or version > 6:
            bad_version("FindCoordinatorResponse", version)
        made = FindCoordinatorResponse(
            r.i32() if version >= 1 else 0,
            0 if version >= 4 else r.i16(),
            ""
            if version >= 4
            else r.compact_nullable_string()
            if version >= 3
            else r.nullable_string()
            if version >= 1
            else "",
            0 if version >= 4 else r.i32(),
            "" if version >= 4 else r.compact_string() if version >= 3 else r.string(),
            0 if version >= 4 else r.i32(),
            [Coordinator.decode(r, version) for _ in range(r.compact_array(14))] if version >= 4 else [],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 6:
            bad_version("FindCoordinatorResponse", version)
        if version >= 1:
            w.i32(self.throttle_time_ms)
        if version >= 4:
            if self.error_code != 0:
                lost_field("FindCoordinatorResponse.error_code", version)
        else:
            w.i16(self.error_code)
        if version >= 4:
            pass
        elif version >= 3:
            w.compact_nullable_string(self.error_message)
        elif version >= 1:
            w.nullable_string(self.error_message)
        if version >= 4:
            if self.node_id != 0:
                lost_field("FindCoordinatorResponse.node_id", version)
        else:
            w.i32(self.node_id)
        if version >= 4:
            if self.host != "":
                lost_field("FindCoordinatorResponse.host", version)
        elif version >= 3:
            w.compact_string(self.host)
        else:
            w.string(self.host)
        if version >= 4:
            if self.port != 0:
                lost_field("FindCoordinatorResponse.port", version)
            w.compact_array(len(self.coordinators))
            for coordinators_item in self.coordinators:
                coordinators_item.encode(w, version)
        else:
            w.i32(self.port)
            if self.coordinators:
                lost_field("FindCoordinatorResponse.coordinators", version)
        if version >= 3:
            w.uvarint(0)
