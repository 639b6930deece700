"""RegisterControllerRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class ControllerEndpoint(Message):
    """Part of RegisterControllerRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "host",
        "port",
        "security_protocol",
    )

    def __init__(self, name: str = "", host: str = "", port: int = 0, security_protocol: int = 0) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.security_protocol: int = security_protocol

    @staticmethod
    def decode(r: Reader, version: int) -> ControllerEndpoint:
        made = ControllerEndpoint(
            r.compact_string(),
            r.compact_string(),
            r.u16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_string(self.host)
        w.u16(self.port)
        w.i16(self.security_protocol)
        w.uvarint(0)


class ControllerFeature(Message):
    """Part of RegisterControllerRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "min_supported_version",
        "max_supported_version",
    )

    def __init__(self, name: str = "", min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.name: str = name
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version

    @staticmethod
    def decode(r: Reader, version: int) -> ControllerFeature:
        made = ControllerFeature(
            r.compact_string(),
            r.i16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i16(self.min_supported_version)
        w.i16(self.max_supported_version)
        w.uvarint(0)


class RegisterControllerRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "end_points",
        "features",
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[ControllerEndpoint] = EMPTY,
        features: list[ControllerFeature] = EMPTY,
    ) -> None:
        self.controller_id: int = controller_id
        self.incarnation_id: bytes = incarnation_id
        self.zk_migration_ready: bool = zk_migration_ready
        self.end_points: list[ControllerEndpoint] = [] if end_points is EMPTY else end_points
        self.features: list[ControllerFeature] = [] if features is EMPTY else features

    @staticmethod
    def decode(r: Reader, version: int) -> RegisterControllerRecord:
        if version != 0:
            bad_version("RegisterControllerRecord", version)
        made = RegisterControllerRecord(
            r.i32(),
            r.uuid(),
            r.boolean(),
            [ControllerEndpoint.decode(r, version) for _ in range(r.compact_array(7))],
            [ControllerFeature.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RegisterControllerRecord", version)
        w.i32(self.controller_id)
        w.uuid(self.incarnation_id)
        w.boolean(self.zk_migration_ready)
        w.compact_array(len(self.end_points))
        for end_points_item in self.end_points:
            end_points_item.encode(w, version)
        w.compact_array(len(self.features))
        for features_item in self.features:
            features_item.encode(w, version)
        w.uvarint(0)
