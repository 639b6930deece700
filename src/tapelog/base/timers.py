"""One heap of timers per node, driven by whoever owns the clock: the reactor, or the simulator."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tapelog.base.ports import Clock


class Timer:
    """A scheduled call; cancel() makes it a no-op."""

    __slots__ = ("action", "due_ms")

    def __init__(self, due_ms: int, action: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Forget the action. Harmless after it ran."""
        self.action = None


class Timers:
    """Calls at monotonic times, in order of (time, creation): deterministic from the clock alone."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._heap: list[tuple[int, int, Timer]] = []
        self._created = 0

    def after(self, delay_ms: int, action: Callable[[], None]) -> Timer:
        """Run action once, delay_ms from now."""
        timer = Timer(self.clock.monotonic_ms() + max(0, delay_ms), action)
        self._created += 1
        heapq.heappush(self._heap, (timer.due_ms, self._created, timer))
        return timer

    def next_due_ms(self) -> int | None:
        """When the earliest live timer is due; None if there is none."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_due(self) -> int:
        """Run every timer due by now; returns how many ran. Timers made meanwhile wait for the next call."""
        now_ms, newest, ran = self.clock.monotonic_ms(), self._created, 0
        later: list[tuple[int, int, Timer]] = []
        while self._heap and self._heap[0][0] <= now_ms:
            entry = heapq.heappop(self._heap)
            action = entry[2].action
            if action is None:
                continue
            if entry[1] > newest:
                later.append(entry)
                continue
            entry[2].action = None
            action()
            ran += 1
        for entry in later:
            heapq.heappush(self._heap, entry)
        return ran
