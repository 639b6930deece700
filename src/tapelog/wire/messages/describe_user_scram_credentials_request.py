"""DescribeUserScramCredentialsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class UserName(Message):
    """Part of DescribeUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name: str = name

    @staticmethod
    def decode(r: Reader, version: int) -> UserName:
        made = UserName(
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.uvarint(0)


class DescribeUserScramCredentialsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("users",)

    def __init__(self, users: list[UserName] | None = EMPTY) -> None:
        self.users: list[UserName] | None = [] if users is EMPTY else users

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeUserScramCredentialsRequest:
        if version != 0:
            bad_version("DescribeUserScramCredentialsRequest", version)
        made = DescribeUserScramCredentialsRequest(
            None if (n := r.compact_nullable_array(2)) < 0 else [UserName.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeUserScramCredentialsRequest", version)
        if self.users is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.users))
            for users_item in self.users:
                users_item.encode(w, version)
        w.uvarint(0)
