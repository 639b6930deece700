"""Objects of a tier that hold offsets of a range: what a plan tells a task of them. Frozen, picklable.

The layout of the bucket is documented in docs/operate/tier-format.md; nothing here knows a store.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """One sealed segment in object storage."""

    name: str
    """The object, below the tier's URL."""
    base: int
    """The first offset that its batches may hold, from position 0 on."""
    first: int
    """From here on it counts: smaller offsets are in the segment before."""
    end: int
    """Its offsets are smaller than this."""
    log_size: int
    """Bytes of batches, from position 0 on."""
    tail_size: int
    """Bytes behind them: indexes and a footer."""
    tail_crc: int
    aborted_from: int = -1
    """The least first offset of the aborted transactions that end in it; -1: there are none."""

    def bytes_of(self, start: int, until: int) -> int:
        """About how many bytes the offsets from start to until take in it."""
        low, high = max(start, self.base), min(until, self.end)
        return self.log_size * max(0, high - low) // max(1, self.end - self.base)


@dataclass(frozen=True, slots=True)
class History:
    """What object storage holds of a range, or of a partition as far as it was asked for."""

    objects: tuple[Stored, ...]
    """In order of offsets. What lies in none of them is not in the tier: ask a broker."""
    until: int
    """From here on only a broker tells what counts: what is not up there, or whose transaction is open."""
    marks: tuple[Stored, ...] = ()
    """For read_committed: the objects whose indexes name every aborted transaction of the others."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive offsets that lie in one object, or on brokers only (None)."""

    start: int
    until: int
    stored: Stored | None
