"""ShareSnapshotKey. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class ShareSnapshotKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topic_id",
        "partition",
    )

    def __init__(self, group_id: str = "", topic_id: bytes = ZERO_UUID, partition: int = 0) -> None:
        self.group_id: str = group_id
        self.topic_id: bytes = topic_id
        self.partition: int = partition

    @staticmethod
    def decode(r: Reader, version: int) -> ShareSnapshotKey:
        if version != 0:
            bad_version("ShareSnapshotKey", version)
        return ShareSnapshotKey(
            r.string(),
            r.uuid(),
            r.i32(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareSnapshotKey", version)
        w.string(self.group_id)
        w.uuid(self.topic_id)
        w.i32(self.partition)
