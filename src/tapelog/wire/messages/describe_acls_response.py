"""DescribeAclsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AclDescription(Message):
    """Part of DescribeAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    def __init__(self, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type

    @staticmethod
    def decode(r: Reader, version: int) -> AclDescription:
        made = AclDescription(
            r.compact_string() if version >= 2 else r.string(),
            r.compact_string() if version >= 2 else r.string(),
            r.i8(),
            r.i8(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
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


class DescribeAclsResource(Message):
    """Part of DescribeAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "pattern_type",
        "acls",
    )

    def __init__(
        self, resource_type: int = 0, resource_name: str = "", pattern_type: int = 3, acls: list[AclDescription] = EMPTY
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.acls: list[AclDescription] = [] if acls is EMPTY else acls

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeAclsResource:
        made = DescribeAclsResource(
            r.i8(),
            r.compact_string() if version >= 2 else r.string(),
            r.i8(),
            [AclDescription.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 2
            else [AclDescription.decode(r, version) for _ in range(r.array(5))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i8(self.resource_type)
        if version >= 2:
            w.compact_string(self.resource_name)
        else:
            w.string(self.resource_name)
        w.i8(self.pattern_type)
        if version >= 2:
            w.compact_array(len(self.acls))
            for acls_item in self.acls:
                acls_item.encode(w, version)
        else:
            w.array(len(self.acls))
            for acls_item in self.acls:
                acls_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class DescribeAclsResponse(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "resources",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resources: list[DescribeAclsResource] = [] if resources is EMPTY else resources

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeAclsResponse:
        if version < 1 or version > 3:
            bad_version("DescribeAclsResponse", version)
        made = DescribeAclsResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            [DescribeAclsResource.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 2
            else [DescribeAclsResource.decode(r, version) for _ in range(r.array(5))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("DescribeAclsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
            w.compact_array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        else:
            w.nullable_string(self.error_message)
            w.array(len(self.resources))
            for resources_item in self.resources:
                resources_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
