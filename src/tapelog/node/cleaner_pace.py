"""How long a cleaning process rests between two steps: by bytes per second, and by the part of the time it may work.

Both may change while it rests, and count at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

HOLD_S_MAX: Final = 2.0
"""Told to rest until further notice, it goes on after so long if there is none."""
SHARE_LEAST: Final = 0.01


class Pace:
    """Bytes per second are kept on average; unused time is not saved up."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.share = 1.0
        """Which part of the time may be spent working; 0: none until further notice."""
        self._clock = clock
        self._rate = 0.0
        self._owed = 0.0
        self._seen = clock()
        self._ended = self._seen
        self._busy_s = 0.0

    @property
    def bytes_per_second(self) -> float:
        """0: as fast as it goes."""
        return self._rate

    @bytes_per_second.setter
    def bytes_per_second(self, rate: float) -> None:
        self._pay()
        self._rate = rate
        if rate <= 0:
            self._owed = 0.0

    def worked(self, size: int, busy_s: float) -> None:
        """A step is over: it read and wrote so many bytes, and took so long."""
        self._pay()
        self._ended, self._busy_s = self._seen, busy_s
        if self._rate > 0:
            self._owed += size

    def pause_s(self) -> float:
        """How long to rest from now on, as things are now."""
        self._pay()
        pause = self._owed / self._rate if self._rate > 0 else 0.0
        if self.share <= 0:
            rest = HOLD_S_MAX
        else:
            rest = self._busy_s * (1 / max(self.share, SHARE_LEAST) - 1)
        return max(0.0, pause, self._ended + rest - self._seen)

    def _pay(self) -> None:
        now = self._clock()
        self._owed = max(0.0, self._owed - (now - self._seen) * self._rate)
        self._seen = now
