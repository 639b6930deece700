"""AlterUserScramCredentialsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ScramCredentialDeletion(Message):
    """Part of AlterUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
    )

    def __init__(self, name: str = "", mechanism: int = 0) -> None:
        self.name: str = name
        self.mechanism: int = mechanism

    @staticmethod
    def decode(r: Reader, version: int) -> ScramCredentialDeletion:
        made = ScramCredentialDeletion(
            r.compact_string(),
            r.i8(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i8(self.mechanism)
        w.uvarint(0)


class ScramCredentialUpsertion(Message):
    """Part of AlterUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
        "iterations",
        "salt",
        "salted_password",
    )

    def __init__(
        self, name: str = "", mechanism: int = 0, iterations: int = 0, salt: bytes = b"", salted_password: bytes = b""
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.iterations: int = iterations
        self.salt: bytes = salt
        self.salted_password: bytes = salted_password

    @staticmethod
    def decode(r: Reader, version: int) -> ScramCredentialUpsertion:
        made = ScramCredentialUpsertion(
            r.compact_string(),
            r.i8(),
            r.i32(),
            r.compact_bytestring(),
            r.compact_bytestring(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i8(self.mechanism)
        w.i32(self.iterations)
        w.compact_bytestring(self.salt)
        w.compact_bytestring(self.salted_password)
        w.uvarint(0)


class AlterUserScramCredentialsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "deletions",
        "upsertions",
    )

    def __init__(
        self, deletions: list[ScramCredentialDeletion] = EMPTY, upsertions: list[ScramCredentialUpsertion] = EMPTY
    ) -> None:
        self.deletions: list[ScramCredentialDeletion] = [] if deletions is EMPTY else deletions
        self.upsertions: list[ScramCredentialUpsertion] = [] if upsertions is EMPTY else upsertions

    @staticmethod
    def decode(r: Reader, version: int) -> AlterUserScramCredentialsRequest:
        if version != 0:
            bad_version("AlterUserScramCredentialsRequest", version)
        made = AlterUserScramCredentialsRequest(
            [ScramCredentialDeletion.decode(r, version) for _ in range(r.compact_array(3))],
            [ScramCredentialUpsertion.decode(r, version) for _ in range(r.compact_array(9))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AlterUserScramCredentialsRequest", version)
        w.compact_array(len(self.deletions))
        for deletions_item in self.deletions:
            deletions_item.encode(w, version)
        w.compact_array(len(self.upsertions))
        for upsertions_item in self.upsertions:
            upsertions_item.encode(w, version)
        w.uvarint(0)
