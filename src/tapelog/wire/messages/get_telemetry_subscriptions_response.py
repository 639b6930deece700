"""GetTelemetrySubscriptionsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class GetTelemetrySubscriptionsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = EMPTY,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.client_instance_id: bytes = client_instance_id
        self.subscription_id: int = subscription_id
        self.accepted_compression_types: list[int] = (
            [] if accepted_compression_types is EMPTY else accepted_compression_types
        )
        self.push_interval_ms: int = push_interval_ms
        self.telemetry_max_bytes: int = telemetry_max_bytes
        self.delta_temporality: bool = delta_temporality
        self.requested_metrics: list[str] = [] if requested_metrics is EMPTY else requested_metrics

    @staticmethod
    def decode(r: Reader, version: int) -> GetTelemetrySubscriptionsResponse:
        if version != 0:
            bad_version("GetTelemetrySubscriptionsResponse", version)
        made = GetTelemetrySubscriptionsResponse(
            r.i32(),
            r.i16(),
            r.uuid(),
            r.i32(),
            [r.i8() for _ in range(r.compact_array(1))],
            r.i32(),
            r.i32(),
            r.boolean(),
            [r.compact_string() for _ in range(r.compact_array(1))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("GetTelemetrySubscriptionsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.uuid(self.client_instance_id)
        w.i32(self.subscription_id)
        w.compact_array(len(self.accepted_compression_types))
        for accepted_compression_types_item in self.accepted_compression_types:
            w.i8(accepted_compression_types_item)
        w.i32(self.push_interval_ms)
        w.i32(self.telemetry_max_bytes)
        w.boolean(self.delta_temporality)
        w.compact_array(len(self.requested_metrics))
        for requested_metrics_item in self.requested_metrics:
            w.compact_string(requested_metrics_item)
        w.uvarint(0)
