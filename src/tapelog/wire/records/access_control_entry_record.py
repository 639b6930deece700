"""AccessControlEntryRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class AccessControlEntryRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "id",
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
        id: bytes = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id: bytes = id
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type

    @staticmethod
    def decode(r: Reader, version: int) -> AccessControlEntryRecord:
        if version != 0:
            bad_version("AccessControlEntryRecord", version)
        made = AccessControlEntryRecord(
            r.uuid(),
            r.i8(),
            r.compact_string(),
            r.i8(),
            r.compact_string(),
            r.compact_string(),
            r.i8(),
            r.i8(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("AccessControlEntryRecord", version)
        w.uuid(self.id)
        w.i8(self.resource_type)
        w.compact_string(self.resource_name)
        w.i8(self.pattern_type)
        w.compact_string(self.principal)
        w.compact_string(self.host)
        w.i8(self.operation)
        w.i8(self.permission_type)
        w.uvarint(0)
