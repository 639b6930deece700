"""BrokerRegistrationChangeRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class BrokerRegistrationChangeRecord(Message):
    """Versions 0 to 3."""

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    STABLE_MAX: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.fenced: int = fenced
        self.in_controlled_shutdown: int = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerRegistrationChangeRecord:
        if version < 0 or version > 3:
            bad_version("BrokerRegistrationChangeRecord", version)
        made = BrokerRegistrationChangeRecord(
            r.i32(),
            r.i64(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.fenced = r.i8()
            elif tag == 1 and version >= 1:
                made.in_controlled_shutdown = r.i8()
            elif tag == 2 and version >= 2:
                made.log_dirs = [r.uuid() for _ in range(r.compact_array(16))]
            elif tag == 3 and version >= 3:
                made.cordoned_log_dirs = (
                    None if (n := r.compact_nullable_array(16)) < 0 else [r.uuid() for _ in range(n)]
                )
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 3:
            bad_version("BrokerRegistrationChangeRecord", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        if version < 1:
            if self.in_controlled_shutdown != 0:
                lost_field("BrokerRegistrationChangeRecord.in_controlled_shutdown", version)
        if version < 2:
            if self.log_dirs:
                lost_field("BrokerRegistrationChangeRecord.log_dirs", version)
        if version < 3:
            if self.cordoned_log_dirs is not None:
                lost_field("BrokerRegistrationChangeRecord.cordoned_log_dirs", version)
        tags = 0
        if self.fenced != 0:
            tags += 1
        if version >= 1 and self.in_controlled_shutdown != 0:
            tags += 1
        if version >= 2 and self.log_dirs:
            tags += 1
        if version >= 3 and self.cordoned_log_dirs is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.fenced != 0:
                field = Writer()
                field.i8(self.fenced)
                w.tagged(0, field)
            if version >= 1 and self.in_controlled_shutdown != 0:
                field = Writer()
                field.i8(self.in_controlled_shutdown)
                w.tagged(1, field)
            if version >= 2 and self.log_dirs:
                field = Writer()
                field.compact_array(len(self.log_dirs))
                for log_dirs_item in self.log_dirs:
                    field.uuid(log_dirs_item)
                w.tagged(2, field)
            if version >= 3 and self.cordoned_log_dirs is not None:
                field = Writer()
                field.compact_array(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_item in self.cordoned_log_dirs:
                    field.uuid(cordoned_log_dirs_item)
                w.tagged(3, field)
