"""ProducerSnapshot. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ProducerEntry(Message):
    """Part of ProducerSnapshot."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "epoch",
        "last_sequence",
        "last_offset",
        "offset_delta",
        "timestamp",
        "coordinator_epoch",
        "current_txn_first_offset",
    )

    def __init__(
        self,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
    ) -> None:
        self.producer_id: int = producer_id
        self.epoch: int = epoch
        self.last_sequence: int = last_sequence
        self.last_offset: int = last_offset
        self.offset_delta: int = offset_delta
        self.timestamp: int = timestamp
        self.coordinator_epoch: int = coordinator_epoch
        self.current_txn_first_offset: int = current_txn_first_offset

    @staticmethod
    def decode(r: Reader, version: int) -> ProducerEntry:
        return ProducerEntry(
            r.i64(),
            r.i16(),
            r.i32(),
            r.i64(),
            r.i32(),
            r.i64(),
            r.i32(),
            r.i64(),
        )

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.producer_id)
        w.i16(self.epoch)
        w.i32(self.last_sequence)
        w.i64(self.last_offset)
        w.i32(self.offset_delta)
        w.i64(self.timestamp)
        w.i32(self.coordinator_epoch)
        w.i64(self.current_txn_first_offset)


class ProducerSnapshot(Message):
    """Version 1."""

    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "crc",
        "producer_entries",
    )

    def __init__(self, crc: int = 0, producer_entries: list[ProducerEntry] = EMPTY) -> None:
        self.crc: int = crc
        self.producer_entries: list[ProducerEntry] = [] if producer_entries is EMPTY else producer_entries

    @staticmethod
    def decode(r: Reader, version: int) -> ProducerSnapshot:
        if version != 1:
            bad_version("ProducerSnapshot", version)
        return ProducerSnapshot(
            r.u32(),
            [ProducerEntry.decode(r, version) for _ in range(r.array(46))],
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 1:
            bad_version("ProducerSnapshot", version)
        w.u32(self.crc)
        w.array(len(self.producer_entries))
        for producer_entries_item in self.producer_entries:
            producer_entries_item.encode(w, version)
