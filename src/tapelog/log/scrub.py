"""Reading stored batches again to see whether they are what was written: bit rot, found by checksum.

Works on one segment's files, in pieces, without a Log: `node.scrubbing` runs it in the background, `tape scrub` on a
data directory. What is wrong is told as a `Damage`: a range of bytes, and of offsets, that ends where a batch is right
again. Batch lengths cannot be trusted behind damage, so the next right batch is looked for where the length says, and
then where the offset index says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import DiskError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, MAGIC_AT, crc_ok

STEP_BYTES: Final = 512 * 1024
TORN: Final = "torn batch"
TOO_LONG: Final = "impossible length"
DAMAGE_MAX: Final = 1000
"""So many damaged ranges of one segment are told, no more."""

BLOCK_BYTES: Final = 4096
"""What a disk loses at once, and gets back when it is written anew."""
BAD_BLOCKS_MAX: Final = 16
"""So many unreadable blocks in one read are bad sectors; more are a disk that fails."""

Read = Callable[[int, int], bytes]
"""Bytes from a position on, fewer only at the end of the file."""


class Damage:
    """Bytes [position, end) of a segment, where offsets [first_offset, next_offset) were, are not what was written."""

    def __init__(
        self, base_offset: int, position: int, end: int, first_offset: int, next_offset: int, reason: str
    ) -> None:
        self.base_offset = base_offset
        self.position = position
        self.end = end
        self.first_offset = first_offset
        self.next_offset = next_offset
        self.reason = reason
        self.code = int(ErrorCode.KAFKA_STORAGE_ERROR)
        """What readers are told: that it may be back soon, or not."""

    def overlaps(self, other: Damage) -> bool:
        """Whether both speak of the same bytes."""
        return self.base_offset == other.base_offset and self.position < other.end and other.position < self.end

    def __str__(self) -> str:
        return f"offsets {self.first_offset} to {self.next_offset - 1}, {self.end - self.position} bytes: {self.reason}"


class SegmentCheck:
    """Checks one segment, a piece at a time: `step` until `done`. `damage` has what was found so far."""

    def __init__(self, base_offset: int, size: int, end_offset: int, positions: list[int] | None = None) -> None:
        """size, end_offset: where the segment ends; positions: of some batches, ascending, as the index has them."""
        self.base_offset = base_offset
        self.size = size
        self.end_offset = end_offset
        self.positions = positions if positions is not None else []
        self.position = 0
        self.next_offset = base_offset
        self.damage: list[Damage] = []

    @property
    def done(self) -> bool:
        """Whether all of it has been looked at."""
        return self.position >= self.size

    def step(self, read: Read, limit: int = STEP_BYTES) -> int:
        """Check about limit bytes more; returns how many were read."""
        chunk = read(self.position, min(max(limit, HEADER_SIZE), self.size - self.position))
        start, taken = self.position, len(chunk)
        while self.position < self.size:
            at = self.position - start
            if at and at + HEADER_SIZE > len(chunk):
                return taken
            end, reason = self._end_of(chunk, at)
            if not reason and end - start > len(chunk):
                if at:
                    return taken
                chunk = read(start, end - start)
                taken += len(chunk)
            if not reason and not crc_ok_in(chunk, at, end - start):
                reason = "wrong checksum"
            if reason:
                return taken + self._damaged(read, end, reason)
            self.next_offset = int(read_i64_be(chunk, at)) + int(read_i32_be(chunk, at + 23)) + 1
            self.position = end
        return taken

    def _end_of(self, chunk: bytes, at: int) -> tuple[int, str]:
        """Where the batch at that place of the chunk ends, and what is wrong with its header, if something is."""
        if at + HEADER_SIZE > len(chunk):
            return self.size, TORN
        end = self.position + LOG_OVERHEAD + int(read_i32_be(chunk, at + 8))
        base, delta = int(read_i64_be(chunk, at)), int(read_i32_be(chunk, at + 23))
        if end - self.position < HEADER_SIZE or end > self.size:
            return self.size, TOO_LONG
        if chunk[at + MAGIC_AT] != MAGIC:
            return end, "not a batch"
        if base < self.next_offset or delta < 0 or base + delta >= self.end_offset:
            return end, "impossible offset"
        return end, ""

    def _damaged(self, read: Read, end: int, reason: str) -> int:
        """Note it, and go on where a batch is right again; returns how many bytes that took."""
        taken = 0
        found, next_offset = self.size, self.end_offset
        for candidate in [end, *(position for position in self.positions if position > self.position)]:
            if candidate >= self.size:
                continue
            size, base = _batch_at(read, candidate, self.size, self.next_offset, self.end_offset)
            taken += size
            if base >= 0:
                found, next_offset = candidate, base
                break
        if len(self.damage) < DAMAGE_MAX:
            self.damage.append(Damage(self.base_offset, self.position, found, self.next_offset, next_offset, reason))
        self.position, self.next_offset = found, next_offset
        return taken


def _batch_at(read: Read, position: int, size: int, at_least: int, below: int) -> tuple[int, int]:
    """How many bytes were read to see whether a right batch begins there, and its base offset; -1 if none does."""
    head = read(position, HEADER_SIZE)
    if len(head) < HEADER_SIZE or head[MAGIC_AT] != MAGIC:
        return len(head), -1
    length = LOG_OVERHEAD + int(read_i32_be(head, 8))
    base, delta = int(read_i64_be(head, 0)), int(read_i32_be(head, 23))
    if length < HEADER_SIZE or position + length > size or base < at_least or delta < 0 or base + delta >= below:
        return len(head), -1
    batch = read(position, length)
    return len(head) + len(batch), base if crc_ok_in(batch, 0, length) else -1


def forgiving(read: Read, told: Callable[[DiskError], None]) -> Read:
    """The same read, with zeros where the disk cannot read a few blocks, which is told: for a checksum they are
    damaged like others. DiskError where it can read next to nothing."""
    return lambda position, size: _forgiving_read(read, told, position, size)


def _forgiving_read(read: Read, told: Callable[[DiskError], None], position: int, size: int) -> bytes:
    try:
        return read(position, size)
    except DiskError as error:
        told(error)
    found, bad, end = bytearray(), 0, position + size
    while position < end:
        want = min(BLOCK_BYTES - position % BLOCK_BYTES, end - position)
        try:
            piece = read(position, want)
        except DiskError:
            bad += 1
            if bad > BAD_BLOCKS_MAX:
                raise
            piece = b"\0" * want
        found += piece
        position += want
        if len(piece) < want:
            break
    return bytes(found)


def crc_ok_in(chunk: bytes, start: int, end: int) -> bool:
    """Whether the batch in chunk[start:end] is all there and has the right checksum."""
    return end <= len(chunk) and crc_ok(chunk, start, end)


def index_positions(data: bytes, size: int) -> list[int]:
    """The positions of batches in the bytes of an offset index, as far as they go up and lie within size bytes."""
    found: list[int] = []
    for at in range(0, len(data) - 7, 8):
        position = int(read_i32_be(data, at + 4))
        if not (found[-1] if found else 0) < position < size:
            break
        found.append(position)
    return found


def replaces(damage: Damage, batches: bytes) -> bool:
    """Whether these batches, of another replica, are what lay in the damaged range: the same length and offsets, each
    with the right checksum."""
    check = SegmentCheck(damage.first_offset, len(batches), damage.next_offset)
    if len(batches) != damage.end - damage.position:
        return False
    while not check.done:
        check.step(lambda position, size: batches[position : position + size], len(batches))
    return not check.damage
