"""Whole record batches from blocks that were cut anywhere. Only batches that lie across two blocks are copied.

What comes out is what a Fetch would have brought: for the decoder to check and to decode. Only what the decoder cannot
know is judged here: that batches follow each other, and that the object ends where a batch does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tapelog.spark.history.store import StoreError
from tapelog.spark.history.tails import damaged
from tapelog.spark.plan.stored import Stored
from tapelog.wire.record_batch import HEADER_SIZE, MAGIC, base_offset, batch_size, last_offset, magic


class Held(NamedTuple):
    """Whole batches in buf[start:end], with offsets from first on and below next_offset."""

    buf: bytes
    start: int
    end: int
    first: int
    next_offset: int


class Cutter:
    """Goes through the blocks of one object, from `at` on, where a batch begins, until it has all offsets wanted."""

    def __init__(self, stored: Stored, at: int, start: int, until: int) -> None:
        self._stored = stored
        self._at = at
        self._until = until
        self._start = start
        self._next = -1
        """The offset behind the last batch; -1 before the first."""
        self._cut = 0
        self.done = False
        """Are all the wanted offsets there?"""

    def all(self, blocks: Iterable[bytes]) -> Iterator[Held]:
        """The batches with offsets from start to until; StoreError where they are not what an object holds."""
        rest = b""
        for block in blocks:
            pos = 0
            while rest and pos < len(block):  # complete the batch that began in an earlier block
                wanted = self._size(rest, 0) if len(rest) >= HEADER_SIZE else HEADER_SIZE
                taken = block[pos : pos + wanted - len(rest)]
                rest, pos = rest + taken, pos + len(taken)
                if len(rest) >= HEADER_SIZE and len(rest) == self._size(rest, 0):
                    yield from self._whole(rest, 0)
                    rest = b""
            if not rest and not self.done:
                yield from self._whole(block, pos)
                rest = block[self._cut :]
            if self.done:
                return
        if rest or self._at != self._stored.log_size:
            raise self._damaged("it ends too early")

    def _whole(self, buf: bytes, pos: int) -> Iterator[Held]:
        """The whole batches in buf from pos on, as one; `_cut` is where they end."""
        begin, first = pos, -1
        while len(buf) - pos >= HEADER_SIZE and not self.done:
            size = self._size(buf, pos)
            if size > len(buf) - pos:
                break
            base, last = base_offset(buf, pos), last_offset(buf, pos)
            self._check(base, last)
            if base >= self._until:
                self.done = True
                break
            first = base if first < 0 else first
            self._next = last + 1
            pos += size
            self._at += size
            self.done = last + 1 >= self._until
        self._cut = pos
        if pos > begin:
            yield Held(buf, begin, pos, first, self._next)

    def _size(self, buf: bytes, pos: int) -> int:
        size = batch_size(buf, pos)
        if magic(buf, pos) != MAGIC or size < HEADER_SIZE or self._at + size > self._stored.log_size:
            raise self._damaged("no batch begins where one should")
        return size

    def _check(self, base: int, last: int) -> None:
        if base < self._stored.base or last < base or last >= self._stored.end or base < self._next:
            raise self._damaged(f"offsets {base} to {last} are out of order")
        if self._next < 0 and self._at > 0 and base > self._start:
            raise self._damaged(f"its index leads behind offset {self._start}")

    def _damaged(self, reason: str) -> StoreError:
        return damaged(self._stored, f"at position {self._at}, {reason}")
