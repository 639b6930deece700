"""GetTelemetrySubscriptionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class GetTelemetrySubscriptionsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("client_instance_id",)

    def __init__(self, client_instance_id: bytes = ZERO_UUID) -> None:
        self.client_instance_id: bytes = client_instance_id

    @staticmethod
    def decode(r: Reader, version: int) -> GetTelemetrySubscriptionsRequest:
        if version != 0:
            bad_version("GetTelemetrySubscriptionsRequest", version)
        made = GetTelemetrySubscriptionsRequest(
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("GetTelemetrySubscriptionsRequest", version)
        w.uuid(self.client_instance_id)
        w.uvarint(0)
