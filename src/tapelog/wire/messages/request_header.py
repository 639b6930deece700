"""RequestHeader. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class RequestHeader(Message):
    """Versions 1 to 2."""

    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",
    )

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key: int = request_api_key
        self.request_api_version: int = request_api_version
        self.correlation_id: int = correlation_id
        self.client_id: str | None = client_id

    @staticmethod
    def decode(r: Reader, version: int) -> RequestHeader:
        if version < 1 or version > 2:
            bad_version("RequestHeader", version)
        made = RequestHeader(
            r.i16(),
            r.i16(),
            r.i32(),
            r.nullable_string(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("RequestHeader", version)
        w.i16(self.request_api_key)
        w.i16(self.request_api_version)
        w.i32(self.correlation_id)
        w.nullable_string(self.client_id)
        if version >= 2:
            w.uvarint(0)
