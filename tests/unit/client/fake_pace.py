"""Time that passes only when somebody sleeps."""

from __future__ import annotations


class FakePace:
    """A clock that sleeping moves; `slept` lists the pauses."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def spread(self) -> float:
        return 0.5
