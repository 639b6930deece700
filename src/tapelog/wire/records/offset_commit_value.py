"""OffsetCommitValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class OffsetCommitValue(Message):
    """Versions 0 to 4."""

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    STABLE_MAX: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp
        self.expire_timestamp: int = expire_timestamp
        self.topic_id: bytes = topic_id

    @staticmethod
    def decode(r: Reader, version: int) -> OffsetCommitValue:
        if version < 0 or version > 4:
            bad_version("OffsetCommitValue", version)
        made = OffsetCommitValue(
            r.i64(),
            r.i32() if version >= 3 else -1,
            r.compact_string() if version >= 4 else r.string(),
            r.i64(),
            -1 if version >= 2 else r.i64() if version >= 1 else -1,
        )
        if version >= 4:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.topic_id = r.uuid()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 4:
            bad_version("OffsetCommitValue", version)
        w.i64(self.offset)
        if version >= 3:
            w.i32(self.leader_epoch)
        if version >= 4:
            w.compact_string(self.metadata)
        else:
            w.string(self.metadata)
        w.i64(self.commit_timestamp)
        if version >= 2:
            pass
        elif version >= 1:
            w.i64(self.expire_timestamp)
        if version >= 4:
            tags = 0
            if self.topic_id != ZERO_UUID:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.topic_id != ZERO_UUID:
                    field = Writer()
                    field.uuid(self.topic_id)
                    w.tagged(0, field)
