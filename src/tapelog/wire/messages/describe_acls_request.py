"""DescribeAclsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeAclsRequest(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter: int = resource_type_filter
        self.resource_name_filter: str | None = resource_name_filter
        self.pattern_type_filter: int = pattern_type_filter
        self.principal_filter: str | None = principal_filter
        self.host_filter: str | None = host_filter
        self.operation: int = operation
        self.permission_type: int = permission_type

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeAclsRequest:
        if version < 1 or version > 3:
            bad_version("DescribeAclsRequest", version)
        made = DescribeAclsRequest(
            r.i8(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.i8(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
            r.i8(),
            r.i8(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("DescribeAclsRequest", version)
        w.i8(self.resource_type_filter)
        if version >= 2:
            w.compact_nullable_string(self.resource_name_filter)
        else:
            w.nullable_string(self.resource_name_filter)
        w.i8(self.pattern_type_filter)
        if version >= 2:
            w.compact_nullable_string(self.principal_filter)
            w.compact_nullable_string(self.host_filter)
        else:
            w.nullable_string(self.principal_filter)
            w.nullable_string(self.host_filter)
        w.i8(self.operation)
        w.i8(self.permission_type)
        if version >= 2:
            w.uvarint(0)
