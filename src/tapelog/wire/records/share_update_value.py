"""ShareUpdateValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class StateBatch(Message):
    """Part of ShareUpdateValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "first_offset",
        "last_offset",
        "delivery_state",
        "delivery_count",
    )

    def __init__(
        self, first_offset: int = 0, last_offset: int = 0, delivery_state: int = 0, delivery_count: int = 0
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_state: int = delivery_state
        self.delivery_count: int = delivery_count

    @staticmethod
    def decode(r: Reader, version: int) -> StateBatch:
        made = StateBatch(
            r.i64(),
            r.i64(),
            r.i8(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.first_offset)
        w.i64(self.last_offset)
        w.i8(self.delivery_state)
        w.i16(self.delivery_count)
        w.uvarint(0)


class ShareUpdateValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = EMPTY,
        delivery_complete_count: int = -1,
    ) -> None:
        self.snapshot_epoch: int = snapshot_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.state_batches: list[StateBatch] = [] if state_batches is EMPTY else state_batches

    @staticmethod
    def decode(r: Reader, version: int) -> ShareUpdateValue:
        if version != 0:
            bad_version("ShareUpdateValue", version)
        made = ShareUpdateValue(
            r.i32(),
            r.i32(),
            r.i64(),
            [StateBatch.decode(r, version) for _ in range(r.compact_array(20))],
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.delivery_complete_count = r.i32()
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareUpdateValue", version)
        w.i32(self.snapshot_epoch)
        w.i32(self.leader_epoch)
        w.i64(self.start_offset)
        w.compact_array(len(self.state_batches))
        for state_batches_item in self.state_batches:
            state_batches_item.encode(w, version)
        tags = 0
        if self.delivery_complete_count != -1:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.delivery_complete_count != -1:
                field = Writer()
                field.i32(self.delivery_complete_count)
                w.tagged(0, field)
