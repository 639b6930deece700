"""Time for a client that blocks: a clock that never jumps, sleeping, deadlines, and pauses that grow.

`Pace` is a port: tests give one whose sleep takes no time.
"""

from __future__ import annotations

import random
import time
from typing import Protocol

from tapelog.client.settings import ConnectionSettings


class Pace(Protocol):
    """A clock, and a way to wait."""

    def now(self) -> float:
        """Seconds that only grow."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...

    def spread(self) -> float:
        """A number between 0 and 1, by chance: keeps many clients from doing the same at once."""
        ...


class SystemPace:
    """The machine's own time."""

    def now(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        time.sleep(seconds)

    def spread(self) -> float:
        """A number between 0 and 1, by chance."""
        return random.random()


class Deadline:
    """A moment by which a call must be over."""

    __slots__ = ("_pace", "at", "seconds")

    def __init__(self, pace: Pace, seconds: float) -> None:
        self._pace = pace
        self.seconds = seconds
        self.at = pace.now() + seconds

    def left(self) -> float:
        """Seconds until then; 0 when it has passed."""
        return max(0.0, self.at - self._pace.now())

    def within(self, seconds: float) -> Deadline:
        """The earlier of this and so many seconds from now."""
        return Deadline(self._pace, min(seconds, self.left()))


class Backoff:
    """Pauses between tries: each twice as long as the last, up to a limit, give or take a fifth."""

    __slots__ = ("_max", "_next", "_pace")

    def __init__(self, pace: Pace, settings: ConnectionSettings) -> None:
        self._pace = pace
        self._next = settings.retry_backoff_ms / 1000
        self._max = settings.retry_backoff_max_ms / 1000

    def pause(self, deadline: Deadline) -> bool:
        """Wait before the next try; False, at once, if that would be after the deadline."""
        seconds = min(self._next, self._max) * (0.8 + 0.4 * self._pace.spread())
        if seconds >= deadline.left():
            return False
        self._next *= 2
        self._pace.sleep(seconds)
        return True
