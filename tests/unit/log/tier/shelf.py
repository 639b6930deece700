"""A small cache of pieces over a simulated store, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapelog.base.timers import Timers
from tapelog.log.tier.buffers import Block
from tapelog.log.tier.pieces import NotHereError, Pieces
from tapelog.log.tier.store import StoreError, UnavailableError
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore

BLOCK = 100


class Waits:
    """Somebody who waits, and is told."""

    def __init__(self) -> None:
        self.told = 0

    def tier_moved(self) -> None:
        self.told += 1


class Noting(SimStore):
    """Notes which blocks are asked for with one call, and how many of them come before it fails; takes its time."""

    calls_of_blocks: list[tuple[int, int]]
    block_ms = 0
    breaks_after = -1
    several = True

    def brings_several(self) -> bool:
        return self.several

    def read_into(
        self, name: str, position: int, into: Sequence[memoryview], done: Callable[[int, StoreError | None], None]
    ) -> None:
        self.calls_of_blocks.append((position // BLOCK, len(into)))
        if not self.block_ms and self.breaks_after < 0:
            super().read_into(name, position, into, done)
            return
        assert self._timers is not None
        good = len(into) if self.breaks_after < 0 else self.breaks_after
        for number, piece in enumerate(into):
            at = position + number * BLOCK
            piece[:] = self.bucket.objects[name][at : at + len(piece)] if number < good else b"?" * len(piece)
            error = None if number < good else UnavailableError("broken off")
            self._timers.after(self.block_ms * (number + 1), lambda n=number, e=error: done(n, e))


class Shelf:
    """A cache of eight blocks over a bucket that takes ten milliseconds to answer."""

    def __init__(self, parallel: int = 2) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.bucket = Bucket()
        self.store = Noting(self.bucket, self.timers, SimEntropy(1))
        self.store.calls_of_blocks = []
        self.asked: list[str] = []
        self.store.before = lambda verb, name: self.asked.append(name)
        self.bucket.put("a", bytes(i % 251 for i in range(100 * BLOCK)))
        self.bucket.put("b", b"small")
        self.pieces = Pieces(self.store, self.timers, 8 * BLOCK, parallel, BLOCK)

    def get(self, number: int, waits: Waits | None = None) -> bytes | None:
        """That block of `a`; None if it is not here."""
        try:
            block = self.pieces.get("a", number * BLOCK, BLOCK)
            assert isinstance(block, Block)
            return bytes(block.data)
        except NotHereError as missing:
            if waits is not None:
                missing.piece.waiters[waits] = None
            return None

    def read(self, number: int) -> None:
        """Wait for that block of `a`, and look at it."""
        while self.get(number) is None:
            self.pass_time(10)

    def pass_time(self, ms: int = 50) -> None:
        until = self.clock.monotonic_ms() + ms
        while (due := self.timers.next_due_ms()) is not None and due <= until:
            self.clock.advance(max(0, due - self.clock.monotonic_ms()))
            self.timers.run_due()
            self.pieces.invariants()
        self.clock.advance(until - self.clock.monotonic_ms())
