"""CreateAclsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AclCreation(Message):
    """Part of CreateAclsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.resource_pattern_type: int = resource_pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type

    @staticmethod
    def decode(r: Reader, version: int) -> AclCreation:
        made = AclCreation(
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
        w.i8(self.resource_type)
        if version >= 2:
            w.compact_string(self.resource_name)
        else:
            w.string(self.resource_name)
        w.i8(self.resource_pattern_type)
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


class CreateAclsRequest(Message):
    """Versions 1 to 3."""

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("creations",)

    def __init__(self, creations: list[AclCreation] = EMPTY) -> None:
        self.creations: list[AclCreation] = [] if creations is EMPTY else creations

    @staticmethod
    def decode(r: Reader, version: int) -> CreateAclsRequest:
        if version < 1 or version > 3:
            bad_version("CreateAclsRequest", version)
        made = CreateAclsRequest(
            [AclCreation.decode(r, version) for _ in range(r.compact_array(8))]
            if version >= 2
            else [AclCreation.decode(r, version) for _ in range(r.array(8))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 3:
            bad_version("CreateAclsRequest", version)
        if version >= 2:
            w.compact_array(len(self.creations))
            for creations_item in self.creations:
                creations_item.encode(w, version)
        else:
            w.array(len(self.creations))
            for creations_item in self.creations:
                creations_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
