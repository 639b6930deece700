"""DescribeDelegationTokenResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribedDelegationTokenRenewer(Message):
    """Part of DescribeDelegationTokenResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
    )

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedDelegationTokenRenewer:
        made = DescribedDelegationTokenRenewer(
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


class DescribedDelegationToken(Message):
    """Part of DescribeDelegationTokenResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = EMPTY,
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp: int = issue_timestamp
        self.expiry_timestamp: int = expiry_timestamp
        self.max_timestamp: int = max_timestamp
        self.token_id: str = token_id
        self.hmac: bytes = hmac
        self.renewers: list[DescribedDelegationTokenRenewer] = [] if renewers is EMPTY else renewers

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedDelegationToken:
        made = DescribedDelegationToken(
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 3 else "",
            r.compact_string() if version >= 3 else "",
            r.i64(),
            r.i64(),
            r.i64(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_bytestring() if version >= 2 else r.bytestring(),
            [DescribedDelegationTokenRenewer.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [DescribedDelegationTokenRenewer.decode(r, version) for _ in range(r.array(3))],
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
        if version >= 3:
            w.compact_string(self.token_requester_principal_type)
            w.compact_string(self.token_requester_principal_name)
        else:
            if self.token_requester_principal_type != "":
                lost_field("DescribedDelegationToken.token_requester_principal_type", version)
            if self.token_requester_principal_name != "":
                lost_field("DescribedDelegationToken.token_requester_principal_name", version)
        w.i64(self.issue_timestamp)
        w.i64(self.expiry_timestamp)
        w.i64(self.max_timestamp)
        if version >= 2:
            w.compact_string(self.token_id)
            w.compact_bytestring(self.hmac)
            w.compact_array(len(self.renewers))
            for renewers_item in self.renewers:
                renewers_item.encode(w, version)
        else:
            w.string(self.token_id)
            w.bytestring(self.hmac)
            w.array(len(self.renewers))
            for renewers_item in self.renewers:
                renewers_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class DescribeDelegationTokenResponse(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "tokens",
        "throttle_time_ms",
    )

    def __init__(
        self, error_code: int = 0, tokens: list[DescribedDelegationToken] = EMPTY, throttle_time_ms: int = 0
    ) -> None:
        self.error_code: int = error_code
        self.tokens: list[DescribedDelegationToken] = [] if tokens is EMPTY else tokens
        self.throttle_time_ms: int = throttle_time_ms

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeDelegationTokenResponse:
        if version < 1 or version > 3:
            bad_version("DescribeDelegationTokenResponse", version)
        made = DescribeDelegationTokenResponse(
            r.i16(),
            [DescribedDelegationToken.decode(r, version) for _ in range(r.compact_array(30))]
            if version >= 2
            else [DescribedDelegationToken.decode(r, version) for _ in range(r.array(30))],
            r.i32(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("DescribeDelegationTokenResponse", version)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_array(len(self.tokens))
            for tokens_item in self.tokens:
                tokens_item.encode(w, version)
        else:
            w.array(len(self.tokens))
            for tokens_item in self.tokens:
                tokens_item.encode(w, version)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.uvarint(0)
