"""PushTelemetryRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PushTelemetryRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "client_instance_id",
        "subscription_id",
        "terminating",
        "compression_type",
        "metrics",
    )

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id: bytes = client_instance_id
        self.subscription_id: int = subscription_id
        self.terminating: bool = terminating
        self.compression_type: int = compression_type
        self.metrics: bytes = metrics

    @staticmethod
    def decode(r: Reader, version: int) -> PushTelemetryRequest:
        if version != 0:
            bad_version("PushTelemetryRequest", version)
        made = PushTelemetryRequest(
            r.uuid(),
            r.i32(),
            r.boolean(),
            r.i8(),
            r.compact_bytestring(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("PushTelemetryRequest", version)
        w.uuid(self.client_instance_id)
        w.i32(self.subscription_id)
        w.boolean(self.terminating)
        w.i8(self.compression_type)
        w.compact_bytestring(self.metrics)
        w.uvarint(0)
