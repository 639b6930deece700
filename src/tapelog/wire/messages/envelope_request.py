"""EnvelopeRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class EnvelopeRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "request_data",
        "request_principal",
        "client_host_address",
    )

    def __init__(
        self, request_data: bytes = b"", request_principal: bytes | None = b"", client_host_address: bytes = b""
    ) -> None:
        self.request_data: bytes = request_data
        self.request_principal: bytes | None = request_principal
        self.client_host_address: bytes = client_host_address

    @staticmethod
    def decode(r: Reader, version: int) -> EnvelopeRequest:
        if version != 0:
            bad_version("EnvelopeRequest", version)
        made = EnvelopeRequest(
            r.compact_bytestring(),
            r.compact_nullable_bytestring(),
            r.compact_bytestring(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("EnvelopeRequest", version)
        w.compact_bytestring(self.request_data)
        w.compact_nullable_bytestring(self.request_principal)
        w.compact_bytestring(self.client_host_address)
        w.uvarint(0)
