"""UnregisterBrokerRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UnregisterBrokerRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id",)

    def __init__(self, broker_id: int = 0) -> None:
        self.broker_id: int = broker_id

    @staticmethod
    def decode(r: Reader, version: int) -> UnregisterBrokerRequest:
        if version != 0:
            bad_version("UnregisterBrokerRequest", version)
        made = UnregisterBrokerRequest(
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UnregisterBrokerRequest", version)
        w.i32(self.broker_id)
        w.uvarint(0)
