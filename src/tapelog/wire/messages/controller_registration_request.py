"""ControllerRegistrationRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Listener(Message):
    """Part of ControllerRegistrationRequest."""

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
    def decode(r: Reader, version: int) -> Listener:
        made = Listener(
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


class Feature(Message):
    """Part of ControllerRegistrationRequest."""

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
    def decode(r: Reader, version: int) -> Feature:
        made = Feature(
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


class ControllerRegistrationRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
    ) -> None:
        self.controller_id: int = controller_id
        self.incarnation_id: bytes = incarnation_id
        self.zk_migration_ready: bool = zk_migration_ready
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.features: list[Feature] = [] if features is EMPTY else features

    @staticmethod
    def decode(r: Reader, version: int) -> ControllerRegistrationRequest:
        if version != 0:
            bad_version("ControllerRegistrationRequest", version)
        made = ControllerRegistrationRequest(
            r.i32(),
            r.uuid(),
            r.boolean(),
            [Listener.decode(r, version) for _ in range(r.compact_array(7))],
            [Feature.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ControllerRegistrationRequest", version)
        w.i32(self.controller_id)
        w.uuid(self.incarnation_id)
        w.boolean(self.zk_migration_ready)
        w.compact_array(len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.encode(w, version)
        w.compact_array(len(self.features))
        for features_item in self.features:
            features_item.encode(w, version)
        w.uvarint(0)
