"""Virtual time: stands still until told to go on."""

from __future__ import annotations

START_WALL_MS = 1_750_000_000_000


class SimClock:
    """A Clock for simulations and tests. The wall clock may be made to jump; the monotonic one never does."""

    def __init__(self, wall_ms: int = START_WALL_MS) -> None:
        self._monotonic_ms = 0
        self._wall_offset_ms = wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def wall_ms(self) -> int:
        return self._monotonic_ms + self._wall_offset_ms

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        assert by_ms >= 0
        self._monotonic_ms += by_ms

    def jump_wall(self, by_ms: int) -> None:
        """Set the wall clock forward or back, as an administrator or NTP might."""
        self._wall_offset_ms += by_ms
