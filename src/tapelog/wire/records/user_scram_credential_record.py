"""UserScramCredentialRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UserScramCredentialRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.salt: bytes = salt
        self.stored_key: bytes = stored_key
        self.server_key: bytes = server_key
        self.iterations: int = iterations

    @staticmethod
    def decode(r: Reader, version: int) -> UserScramCredentialRecord:
        if version != 0:
            bad_version("UserScramCredentialRecord", version)
        made = UserScramCredentialRecord(
            r.compact_string(),
            r.i8(),
            r.compact_bytestring(),
            r.compact_bytestring(),
            r.compact_bytestring(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UserScramCredentialRecord", version)
        w.compact_string(self.name)
        w.i8(self.mechanism)
        w.compact_bytestring(self.salt)
        w.compact_bytestring(self.stored_key)
        w.compact_bytestring(self.server_key)
        w.i32(self.iterations)
        w.uvarint(0)
