"""BrokerRegistrationRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Listener(Message):
    """Part of BrokerRegistrationRequest."""

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
    """Part of BrokerRegistrationRequest."""

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


class BrokerRegistrationRequest(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] = EMPTY,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id: int = broker_id
        self.cluster_id: str = cluster_id
        self.incarnation_id: bytes = incarnation_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.features: list[Feature] = [] if features is EMPTY else features
        self.rack: str | None = rack
        self.is_migrating_zk_broker: bool = is_migrating_zk_broker
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.previous_broker_epoch: int = previous_broker_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerRegistrationRequest:
        if version < 0 or version > 4:
            bad_version("BrokerRegistrationRequest", version)
        made = BrokerRegistrationRequest(
            r.i32(),
            r.compact_string(),
            r.uuid(),
            [Listener.decode(r, version) for _ in range(r.compact_array(7))],
            [Feature.decode(r, version) for _ in range(r.compact_array(6))],
            r.compact_nullable_string(),
            r.boolean() if version >= 1 else False,
            [r.uuid() for _ in range(r.compact_array(16))] if version >= 2 else [],
            r.i64() if version >= 3 else -1,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("BrokerRegistrationRequest", version)
        w.i32(self.broker_id)
        w.compact_string(self.cluster_id)
        w.uuid(self.incarnation_id)
        w.compact_array(len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.encode(w, version)
        w.compact_array(len(self.features))
        for features_item in self.features:
            features_item.encode(w, version)
        w.compact_nullable_string(self.rack)
        if version >= 1:
            w.boolean(self.is_migrating_zk_broker)
        else:
            if self.is_migrating_zk_broker:
                lost_field("BrokerRegistrationRequest.is_migrating_zk_broker", version)
        if version >= 2:
            w.compact_array(len(self.log_dirs))
            for log_dirs_item in self.log_dirs:
                w.uuid(log_dirs_item)
        if version >= 3:
            w.i64(self.previous_broker_epoch)
        w.uvarint(0)
