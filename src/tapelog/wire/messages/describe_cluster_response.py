"""DescribeClusterResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeClusterBroker(Message):
    """Part of DescribeClusterResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "host",
        "port",
        "rack",
        "is_fenced",
    )

    def __init__(
        self, broker_id: int = 0, host: str = "", port: int = 0, rack: str | None = None, is_fenced: bool = False
    ) -> None:
        self.broker_id: int = broker_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack
        self.is_fenced: bool = is_fenced

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeClusterBroker:
        made = DescribeClusterBroker(
            r.i32(),
            r.compact_string(),
            r.i32(),
            r.compact_nullable_string(),
            r.boolean() if version >= 2 else False,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.broker_id)
        w.compact_string(self.host)
        w.i32(self.port)
        w.compact_nullable_string(self.rack)
        if version >= 2:
            w.boolean(self.is_fenced)
        else:
            if self.is_fenced:
                lost_field("DescribeClusterBroker.is_fenced", version)
        w.uvarint(0)


class DescribeClusterResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.endpoint_type: int = endpoint_type
        self.cluster_id: str = cluster_id
        self.controller_id: int = controller_id
        self.brokers: list[DescribeClusterBroker] = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations: int = cluster_authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeClusterResponse:
        if version < 0 or version > 2:
            bad_version("DescribeClusterResponse", version)
        made = DescribeClusterResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.i8() if version >= 1 else 1,
            r.compact_string(),
            r.i32(),
            [DescribeClusterBroker.decode(r, version) for _ in range(r.compact_array(11))],
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DescribeClusterResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        if version >= 1:
            w.i8(self.endpoint_type)
        else:
            if self.endpoint_type != 1:
                lost_field("DescribeClusterResponse.endpoint_type", version)
        w.compact_string(self.cluster_id)
        w.i32(self.controller_id)
        w.compact_array(len(self.brokers))
        for brokers_item in self.brokers:
            brokers_item.encode(w, version)
        w.i32(self.cluster_authorized_operations)
        w.uvarint(0)
