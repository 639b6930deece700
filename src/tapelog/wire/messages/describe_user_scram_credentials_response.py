"""DescribeUserScramCredentialsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CredentialInfo(Message):
    """Part of DescribeUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "mechanism",
        "iterations",
    )

    def __init__(self, mechanism: int = 0, iterations: int = 0) -> None:
        self.mechanism: int = mechanism
        self.iterations: int = iterations

    @staticmethod
    def decode(r: Reader, version: int) -> CredentialInfo:
        made = CredentialInfo(
            r.i8(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i8(self.mechanism)
        w.i32(self.iterations)
        w.uvarint(0)


class DescribeUserScramCredentialsResult(Message):
    """Part of DescribeUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "user",
        "error_code",
        "error_message",
        "credential_infos",
    )

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = EMPTY,
    ) -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.credential_infos: list[CredentialInfo] = [] if credential_infos is EMPTY else credential_infos

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeUserScramCredentialsResult:
        made = DescribeUserScramCredentialsResult(
            r.compact_string(),
            r.i16(),
            r.compact_nullable_string(),
            [CredentialInfo.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.user)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.credential_infos))
        for credential_infos_item in self.credential_infos:
            credential_infos_item.encode(w, version)
        w.uvarint(0)


class DescribeUserScramCredentialsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: list[DescribeUserScramCredentialsResult] = [] if results is EMPTY else results

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeUserScramCredentialsResponse:
        if version != 0:
            bad_version("DescribeUserScramCredentialsResponse", version)
        made = DescribeUserScramCredentialsResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            [DescribeUserScramCredentialsResult.decode(r, version) for _ in range(r.compact_array(6))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeUserScramCredentialsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_array(len(self.results))
        for results_item in self.results:
            results_item.encode(w, version)
        w.uvarint(0)
