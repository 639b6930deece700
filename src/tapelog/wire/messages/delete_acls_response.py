"""DeleteAclsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DeleteAclsMatchingAcl(Message):
    """Part of DeleteAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteAclsMatchingAcl:
        made = DeleteAclsMatchingAcl(
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.i8(),
            r.compact_string() if version >= 2 else r.string(),
            r.i8(),
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 2 else r.string(),
            r.i8(),
            r.i8(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        w.i8(self.resource_type)
        if version >= 2:
            w.compact_string(self.resource_name)
        else:
            w.string(self.resource_name)
        w.i8(self.pattern_type)
        if version >= 2:
            w.compact_string(self.principal)
            w.compact_string(self.host)
        else:
            w.string(self.principal)
            w.string(self.host)
        w.i8(self.operation)
        w.i8(self.permission_type)
        if version >= 2:
            w.uvarint(0)


class DeleteAclsFilterResult(Message):
    """Part of DeleteAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "matching_acls",
    )

    def __init__(
        self, error_code: int = 0, error_message: str | None = "", matching_acls: list[DeleteAclsMatchingAcl] = EMPTY
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.matching_acls: list[DeleteAclsMatchingAcl] = [] if matching_acls is EMPTY else matching_acls

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteAclsFilterResult:
        made = DeleteAclsFilterResult(
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            [DeleteAclsMatchingAcl.decode(r, version) for _ in range(r.compact_array(11))]
            if version >= 2
            else [DeleteAclsMatchingAcl.decode(r, version) for _ in range(r.array(11))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
            w.compact_array(len(self.matching_acls))
            for matching_acls_item in self.matching_acls:
                matching_acls_item.encode(w, version)
        else:
            w.nullable_string(self.error_message)
            w.array(len(self.matching_acls))
            for matching_acls_item in self.matching_acls:
                matching_acls_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class DeleteAclsResponse(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "filter_results",
    )

    def __init__(self, throttle_time_ms: int = 0, filter_results: list[DeleteAclsFilterResult] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.filter_results: list[DeleteAclsFilterResult] = [] if filter_results is EMPTY else filter_results

    @staticmethod
    def decode(r: Reader, version: int) -> DeleteAclsResponse:
        if version < 1 or version > 3:
            bad_version("DeleteAclsResponse", version)
        made = DeleteAclsResponse(
            r.i32(),
            [DeleteAclsFilterResult.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 2
            else [DeleteAclsFilterResult.decode(r, version) for _ in range(r.array(5))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("DeleteAclsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 2:
            w.compact_array(len(self.filter_results))
            for filter_results_item in self.filter_results:
                filter_results_item.encode(w, version)
        else:
            w.array(len(self.filter_results))
            for filter_results_item in self.filter_results:
                filter_results_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
