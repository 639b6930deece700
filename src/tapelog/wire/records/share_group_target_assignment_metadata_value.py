"""ShareGroupTargetAssignmentMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ShareGroupTargetAssignmentMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "assignment_epoch",
        "assignment_timestamp",
    )

    def __init__(self, assignment_epoch: int = 0, assignment_timestamp: int = 0) -> None:
        self.assignment_epoch: int = assignment_epoch
        self.assignment_timestamp: int = assignment_timestamp

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupTargetAssignmentMetadataValue:
        if version != 0:
            bad_version("ShareGroupTargetAssignmentMetadataValue", version)
        made = ShareGroupTargetAssignmentMetadataValue(
            r.i32(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.assignment_timestamp = r.i64()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupTargetAssignmentMetadataValue", version)
        w.i32(self.assignment_epoch)
        tags = 0
        if self.assignment_timestamp != 0:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.assignment_timestamp != 0:
                field = Writer()
                field.i64(self.assignment_timestamp)
                w.tagged(0, field)
