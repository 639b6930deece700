"""ApiVersionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ApiVersionsRequest(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "client_software_name",
        "client_software_version",
    )

    def __init__(self, client_software_name: str = "", client_software_version: str = "") -> None:
        self.client_software_name: str = client_software_name
        self.client_software_version: str = client_software_version

    @staticmethod
    def decode(r: Reader, version: int) -> ApiVersionsRequest:
        if version < 0 or version > 4:
            bad_version("ApiVersionsRequest", version)
        made = ApiVersionsRequest(
            r.compact_string() if version >= 3 else "",
            r.compact_string() if version >= 3 else "",
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("ApiVersionsRequest", version)
        if version >= 3:
            w.compact_string(self.client_software_name)
            w.compact_string(self.client_software_version)
        if version >= 3:
            w.uvarint(0)
