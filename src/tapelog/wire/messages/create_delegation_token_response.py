"""CreateDelegationTokenResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CreateDelegationTokenResponse(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp_ms: int = issue_timestamp_ms
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.max_timestamp_ms: int = max_timestamp_ms
        self.token_id: str = token_id
        self.hmac: bytes = hmac
        self.throttle_time_ms: int = throttle_time_ms

    @staticmethod
    def decode(r: Reader, version: int) -> CreateDelegationTokenResponse:
        if version < 1 or version > 3:
            bad_version("CreateDelegationTokenResponse", version)
        made = CreateDelegationTokenResponse(
            r.i16(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 3 else "",
            r.compact_string() if version >= 3 else "",
            r.i64(),
            r.i64(),
            r.i64(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_bytestring() if version >= 2 else r.bytestring(),
            r.i32(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("CreateDelegationTokenResponse", version)
        w.i16(self.error_code)
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
                lost_field("CreateDelegationTokenResponse.token_requester_principal_type", version)
            if self.token_requester_principal_name != "":
                lost_field("CreateDelegationTokenResponse.token_requester_principal_name", version)
        w.i64(self.issue_timestamp_ms)
        w.i64(self.expiry_timestamp_ms)
        w.i64(self.max_timestamp_ms)
        if version >= 2:
            w.compact_string(self.token_id)
            w.compact_bytestring(self.hmac)
        else:
            w.string(self.token_id)
            w.bytestring(self.hmac)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.uvarint(0)
