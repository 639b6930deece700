"""The records inside a batch, as byte ranges: which keys they have, and which of them stay.

Hot: runs once per record in each pass. No object is made per record; what stays is told as ranges of bytes, because a
record's bytes need not change where the base offset and the base timestamp of its batch stay the same.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from tapelog.log.compaction.keymap import KeyMap
from tapelog.log.compaction.source import UncleanableError

ALL: Final = -1
_SHIFT_MAX: Final = 63
_POSITIVE: Final = (1 << 63) - 1


class Kept:
    """What stays of one batch's records."""

    def __init__(self) -> None:
        self.count = 0
        self.runs: list[tuple[int, int]] = []
        """Byte ranges in the payload, neighbours joined."""
        self.newest_delta = 0
        """The greatest timestamp, counted from the batch's base timestamp."""
        self.tombstones = False
        self.unkeyed = 0
        """Records that went because they have no key."""

    def add_run(self, start: int, end: int) -> None:
        """One more range, unless there is nothing in it."""
        if start != end:
            self.runs.append((start, end))


def _varint(data: bytes, at: i64) -> tuple[i64, i64]:
    """A zigzag number of 64 bits at most, and where it ends."""
    value: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[at]
        at += 1
        if shift == _SHIFT_MAX and byte > 1:
            raise IndexError
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((value >> 1) & _POSITIVE) ^ -(value & 1), at
        shift += 7


def note_keys(keys: KeyMap, data: bytes, count: int, base: int, first: int) -> int:
    """Note the keys of a batch's records from offset first on. Returns ALL, or the offset of the first record whose
    key found no room: it and everything behind it is not covered."""
    at: i64 = 0
    byte: i64
    delta: i64
    length: i64
    start: i64 = base
    noted: i64 = first
    try:
        for _ in range(count):
            size, at = _varint(data, at)
            stop = at + size
            at += 1  # attributes
            while data[at] >= 0x80:  # the timestamp
                at += 1
            at += 1
            byte = data[at]
            if byte < 0x80:
                delta, at = byte >> 1, at + 1
            else:
                delta, at = _varint(data, at)
            byte = data[at]
            if byte < 0x80:
                length, at = (byte >> 1) ^ -(byte & 1), at + 1
            else:
                length, at = _varint(data, at)
            offset = start + delta
            if length >= 0 and offset >= noted:
                if at + length > stop:
                    raise IndexError
                if not keys.put(data[at : at + length], offset):
                    return int(offset)
            at = stop
    except IndexError:
        raise malformed(base) from None
    if at != len(data):
        raise malformed(base)
    return ALL


def what_stays(keys: KeyMap, data: bytes, count: int, base: int, covered: int, tombstones_due: bool) -> Kept:
    """Which records stay: those at or behind `covered`, of which the map does not know; of the others those that have
    a key of which there is nothing later, unless they are tombstones and those are due."""
    kept = Kept()
    at: i64 = 0
    run_start: i64 = 0
    run_end: i64 = 0
    byte: i64
    delta: i64
    length: i64
    first: i64 = base
    end: i64 = covered
    newest: i64 = 0
    stay: i64 = 0
    tombstones = False
    try:
        for _ in range(count):
            start = at
            size, at = _varint(data, at)
            stop = at + size
            stamp, at = _varint(data, at + 1)
            byte = data[at]
            if byte < 0x80:
                delta, at = byte >> 1, at + 1
            else:
                delta, at = _varint(data, at)
            byte = data[at]
            if byte < 0x80:
                length, at = (byte >> 1) ^ -(byte & 1), at + 1
            else:
                length, at = _varint(data, at)
            value_at = at + length if length > 0 else at
            no_value = data[value_at] & 1 != 0  # a length is even in this form, but for the -1 that says: none
            if stop <= value_at:
                raise IndexError
            at, key_at = stop, at
            offset = first + delta
            if offset < end:
                if length < 0:
                    kept.unkeyed += 1
                    continue
                if (no_value and tombstones_due) or keys.get(data[key_at:value_at]) > offset:
                    continue
            stay += 1
            if stay == 1 or stamp > newest:
                newest = stamp
            tombstones = tombstones or no_value
            if run_end != start:
                kept.add_run(int(run_start), int(run_end))
                run_start = start
            run_end = stop
    except IndexError:
        raise malformed(base) from None
    if at != len(data):
        raise malformed(base)
    kept.add_run(int(run_start), int(run_end))
    kept.count, kept.newest_delta, kept.tombstones = int(stay), int(newest), tombstones
    return kept


def joined(data: bytes, runs: list[tuple[int, int]]) -> bytes:
    """The bytes of some ranges."""
    if len(runs) == 1 and runs[0] == (0, len(data)):
        return data
    return b"".join([data[start:end] for start, end in runs])


def shifted(data: bytes, shift: int) -> bytes:
    """The same records with every timestamp delta less by `shift`: for a batch whose base timestamp grows by it."""
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        stop = at + size
        stamp, after = _varint(data, at + 1)
        body = data[at : at + 1] + zigzag(stamp - shift) + data[after:stop]
        pieces.append(zigzag(len(body)))
        pieces.append(body)
        at = stop
    return b"".join(pieces)


def zigzag(number: int) -> bytes:
    """A number as records have it."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def malformed(base: int) -> UncleanableError:
    """The error that says so."""
    return UncleanableError(f"batch at offset {base}: its records are malformed")
