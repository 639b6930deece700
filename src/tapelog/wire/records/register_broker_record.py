"""RegisterBrokerRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class BrokerEndpoint(Message):
    """Part of RegisterBrokerRecord."""

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
    def decode(r: Reader, version: int) -> BrokerEndpoint:
        made = BrokerEndpoint(
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


class BrokerFeature(Message):
    """Part of RegisterBrokerRecord."""

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
    def decode(r: Reader, version: int) -> BrokerFeature:
        made = BrokerFeature(
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


class RegisterBrokerRecord(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = EMPTY,
        features: list[BrokerFeature] = EMPTY,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.is_migrating_zk_broker: bool = is_migrating_zk_broker
        self.incarnation_id: bytes = incarnation_id
        self.broker_epoch: int = broker_epoch
        self.end_points: list[BrokerEndpoint] = [] if end_points is EMPTY else end_points
        self.features: list[BrokerFeature] = [] if features is EMPTY else features
        self.rack: str | None = rack
        self.fenced: bool = fenced
        self.in_controlled_shutdown: bool = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs

    @staticmethod
    def decode(r: Reader, version: int) -> RegisterBrokerRecord:
        if version < 0 or version > 4:
            bad_version("RegisterBrokerRecord", version)
        made = RegisterBrokerRecord(
            r.i32(),
            r.boolean() if version >= 2 else False,
            r.uuid(),
            r.i64(),
            [BrokerEndpoint.decode(r, version) for _ in range(r.compact_array(7))],
            [BrokerFeature.decode(r, version) for _ in range(r.compact_array(6))],
            r.compact_nullable_string(),
            r.boolean(),
            r.boolean() if version >= 1 else False,
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0 and version >= 3:
                made.log_dirs = [r.uuid() for _ in range(r.compact_array(16))]
            elif tag == 1 and version >= 4:
                made.cordoned_log_dirs = (
                    None if (n := r.compact_nullable_array(16)) < 0 else [r.uuid() for _ in range(n)]
                )
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("RegisterBrokerRecord", version)
        w.i32(self.broker_id)
        if version >= 2:
            w.boolean(self.is_migrating_zk_broker)
        else:
            if self.is_migrating_zk_broker:
                lost_field("RegisterBrokerRecord.is_migrating_zk_broker", version)
        w.uuid(self.incarnation_id)
        w.i64(self.broker_epoch)
        w.compact_array(len(self.end_points))
        for end_points_item in self.end_points:
            end_points_item.encode(w, version)
        w.compact_array(len(self.features))
        for features_item in self.features:
            features_item.encode(w, version)
        w.compact_nullable_string(self.rack)
        w.boolean(self.fenced)
        if version >= 1:
            w.boolean(self.in_controlled_shutdown)
        else:
            if self.in_controlled_shutdown:
                lost_field("RegisterBrokerRecord.in_controlled_shutdown", version)
        if version < 3:
            if self.log_dirs:
                lost_field("RegisterBrokerRecord.log_dirs", version)
        if version < 4:
            if self.cordoned_log_dirs is not None:
                lost_field("RegisterBrokerRecord.cordoned_log_dirs", version)
        tags = 0
        if version >= 3 and self.log_dirs:
            tags += 1
        if version >= 4 and self.cordoned_log_dirs is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if version >= 3 and self.log_dirs:
                field = Writer()
                field.compact_array(len(self.log_dirs))
                for log_dirs_item in self.log_dirs:
                    field.uuid(log_dirs_item)
                w.tagged(0, field)
            if version >= 4 and self.cordoned_log_dirs is not None:
                field = Writer()
                field.compact_array(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_item in self.cordoned_log_dirs:
                    field.uuid(cordoned_log_dirs_item)
                w.tagged(1, field)
