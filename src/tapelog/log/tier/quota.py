"""How much may be read from the store in a second: remote.log.manager.fetch.max.bytes.per.second (KIP-956)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Clock

WINDOW_MS: Final = 1_000
"""So much of what was not used is made up for."""


class Quota:
    """What was taken is waited for afterwards: one piece may always come, however large it is."""

    def __init__(self, clock: Clock) -> None:
        self.rate: Callable[[], int] = _without_bound
        """Bytes a second."""
        self._clock = clock
        self._free_ms = 0.0

    def wait_ms(self) -> int:
        """Until something may be read; 0 if now."""
        return max(0, int(self._free_ms - self._clock.monotonic_ms()))

    def took(self, size: int) -> None:
        """So many bytes are being read."""
        now_ms = self._clock.monotonic_ms()
        self._free_ms = max(self._free_ms, now_ms - WINDOW_MS) + size * 1000 / max(1, self.rate())

    def gave_back(self, size: int) -> None:
        """So many bytes of that did not come."""
        self._free_ms -= size * 1000 / max(1, self.rate())


def _without_bound() -> int:
    return 1 << 62
