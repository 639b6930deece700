"""ZkMigrationStateRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ZkMigrationStateRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("zk_migration_state",)

    def __init__(self, zk_migration_state: int = 0) -> None:
        self.zk_migration_state: int = zk_migration_state

    @staticmethod
    def decode(r: Reader, version: int) -> ZkMigrationStateRecord:
        if version != 0:
            bad_version("ZkMigrationStateRecord", version)
        made = ZkMigrationStateRecord(
            r.i8(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ZkMigrationStateRecord", version)
        w.i8(self.zk_migration_state)
        w.uvarint(0)
