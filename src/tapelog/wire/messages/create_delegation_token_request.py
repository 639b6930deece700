"""CreateDelegationTokenRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CreatableRenewers(Message):
    """Part of CreateDelegationTokenRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
    )

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name

    @staticmethod
    def decode(r: Reader, version: int) -> CreatableRenewers:
        made = CreatableRenewers(
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


class CreateDelegationTokenRequest(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "owner_principal_type",
        "owner_principal_name",
        "renewers",
        "max_lifetime_ms",
    )

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = EMPTY,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type: str | None = owner_principal_type
        self.owner_principal_name: str | None = owner_principal_name
        self.renewers: list[CreatableRenewers] = [] if renewers is EMPTY else renewers
        self.max_lifetime_ms: int = max_lifetime_ms

    @staticmethod
    def decode(r: Reader, version: int) -> CreateDelegationTokenRequest:
        if version < 1 or version > 3:
            bad_version("CreateDelegationTokenRequest", version)
        made = CreateDelegationTokenRequest(
            r.compact_nullable_string() if version >= 3 else "",
            r.compact_nullable_string() if version >= 3 else "",
            [CreatableRenewers.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [CreatableRenewers.decode(r, version) for _ in range(r.array(3))],
            r.i64(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("CreateDelegationTokenRequest", version)
        if version >= 3:
            w.compact_nullable_string(self.owner_principal_type)
            w.compact_nullable_string(self.owner_principal_name)
        else:
            if self.owner_principal_type != "":
                lost_field("CreateDelegationTokenRequest.owner_principal_type", version)
            if self.owner_principal_name != "":
                lost_field("CreateDelegationTokenRequest.owner_principal_name", version)
        if version >= 2:
            w.compact_array(len(self.renewers))
            for renewers_item in self.renewers:
                renewers_item.encode(w, version)
        else:
            w.array(len(self.renewers))
            for renewers_item in self.renewers:
                renewers_item.encode(w, version)
        w.i64(self.max_lifetime_ms)
        if version >= 2:
            w.uvarint(0)
