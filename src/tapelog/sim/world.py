"""Virtual time for several machines: one order of events, from one seed.

Everything that happens is an event at a millisecond of the world's time: a delivery of the net, a client's timer, a
fault, or a timer of one of the nodes, whose own clocks may go faster or slower. Events of the same millisecond happen
in the order in which they were asked for. After each event `after_event` is told, so that promises can be checked.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final, Protocol

EVENTS_PER_MS_MAX: Final = 20_000
"""More than that without time passing is a loop."""


NEVER_MS: Final = 1 << 62


class Actor(Protocol):
    """Somebody with timers of its own: a node."""

    @property
    def due_ms(self) -> int:
        """When it wants to run, in the world's time; NEVER_MS: not at all."""
        ...

    def run_due(self) -> None:
        """Its time has come."""
        ...


class Event:
    """A call to come; cancel() makes it a no-op."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Forget it. Harmless after it happened."""
        self.action = None


class World:
    """See the module."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self.actors: list[Actor] = []
        self.after_event: Callable[[], None] | None = None
        self._heap: list[tuple[int, int, Event]] = []
        self._created = 0
        self._at_once = 0

    def after(self, delay_ms: int, action: Callable[[], None]) -> Event:
        """Call action once, delay_ms from now."""
        event = Event(action)
        self._created += 1
        heapq.heappush(self._heap, (self.now_ms + max(0, delay_ms), self._created, event))
        return event

    def run(self, by_ms: int) -> None:
        """Let that much time pass."""
        until_ms = self.now_ms + by_ms
        while self.step(until_ms):
            pass
        self.now_ms = max(self.now_ms, until_ms)

    def run_until(self, done: Callable[[], bool], within_ms: int) -> bool:
        """Let time pass until done() holds; False if it does not within that time."""
        until_ms = self.now_ms + within_ms
        while not done():
            if not self.step(until_ms):
                self.now_ms = max(self.now_ms, until_ms)
                return done()
        return True

    def step(self, until_ms: int) -> bool:
        """The next event, if it happens by then."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heapq.heappop(heap)
        due_ms = heap[0][0] if heap else until_ms + 1
        actor: Actor | None = None
        for candidate in self.actors:
            if candidate.due_ms < due_ms:
                due_ms, actor = candidate.due_ms, candidate
        if due_ms > until_ms:
            return False
        if due_ms > self.now_ms:
            self.now_ms, self._at_once = due_ms, 0
        self.events += 1
        self._at_once += 1
        assert self._at_once <= EVENTS_PER_MS_MAX, "time does not pass: somebody keeps asking to run at once"
        if actor is not None:
            actor.run_due()
        else:
            event = heapq.heappop(heap)[2]
            action, event.action = event.action, None
            assert action is not None
            action()
        if self.after_event is not None:
            self.after_event()
        return True
