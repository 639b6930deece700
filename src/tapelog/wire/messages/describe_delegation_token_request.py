"""DescribeDelegationTokenRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeDelegationTokenOwner(Message):
    """Part of DescribeDelegationTokenRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
    )

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeDelegationTokenOwner:
        made = DescribeDelegationTokenOwner(
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 2 else r.string(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.principal_type)
            w.compact_string(self.principal_name)
        else:
            w.string(self.principal_type)
            w.string(self.principal_name)
        if version >= 2:
            w.uvarint(0)


class DescribeDelegationTokenRequest(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("owners",)

    def __init__(self, owners: list[DescribeDelegationTokenOwner] | None = EMPTY) -> None:
        self.owners: list[DescribeDelegationTokenOwner] | None = [] if owners is EMPTY else owners

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeDelegationTokenRequest:
        if version < 1 or version > 3:
            bad_version("DescribeDelegationTokenRequest", version)
        made = DescribeDelegationTokenRequest(
            (
                None
                if (n := r.compact_nullable_array(3)) < 0
                else [DescribeDelegationTokenOwner.decode(r, version) for _ in range(n)]
            )
            if version >= 2
            else None
            if (n := r.nullable_array(3)) < 0
            else [DescribeDelegationTokenOwner.decode(r, version) for _ in range(n)],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("DescribeDelegationTokenRequest", version)
        if version >= 2:
            if self.owners is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.owners))
                for owners_item in self.owners:
                    owners_item.encode(w, version)
        else:
            if self.owners is None:
                w.array(-1)
            else:
                w.array(len(self.owners))
                for owners_item in self.owners:
                    owners_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
