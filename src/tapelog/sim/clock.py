"""Virtual time: stands still until told to go on."""

from __future__ import annotations

from typing import Final

from tapelog.sim.world import World

START_WALL_MS = 1_750_000_000_000
PACE: Final = 1000
"""A clock that goes right: milliseconds per thousand of the world's."""


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


class NodeClock:
    """The clocks of one machine in a world: the monotonic one may go a little fast or slow, and starts anew with the
    machine; the one on the wall may jump."""

    def __init__(self, world: World, monotonic_ms: int = 0, wall_ms: int = START_WALL_MS) -> None:
        self._world = world
        self._since_ms = world.now_ms
        self._base_ms = monotonic_ms
        self._pace = PACE
        self._wall_offset_ms = wall_ms

    def monotonic_ms(self) -> int:
        passed_ms = self._world.now_ms - self._since_ms
        return self._base_ms + (passed_ms if self._pace == PACE else passed_ms * self._pace // PACE)

    def wall_ms(self) -> int:
        return self._world.now_ms + self._wall_offset_ms

    def world_ms(self, monotonic_ms: int) -> int:
        """When, in the world's time, the monotonic clock shows that."""
        return self._since_ms + -((self._base_ms - monotonic_ms) * PACE // self._pace)

    def go_at(self, pace: int) -> None:
        """From now on, so many milliseconds pass here in a second of the world."""
        assert pace > 0
        self._base_ms, self._since_ms, self._pace = self.monotonic_ms(), self._world.now_ms, pace

    def restart(self, monotonic_ms: int) -> None:
        """The machine boots: its monotonic clock begins somewhere."""
        self._base_ms, self._since_ms = monotonic_ms, self._world.now_ms

    def jump_wall(self, by_ms: int) -> None:
        """Set the wall clock forward or back."""
        self._wall_offset_ms += by_ms
