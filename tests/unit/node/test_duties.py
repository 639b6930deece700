"""The active controller's clock: what is due is proposed, but not on the evidence of a sleep of one's own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tapelog.base.timers import Timers
from tapelog.node.duties import CHECK_MS_MAX, LATE_MS, ControllerDuties
from tapelog.sim.clock import SimClock


class World:
    """A controller whose upkeep is due at `due_ms`."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.due_ms = 1 << 62
        self.ticked: list[int] = []
        self.before: list[object] = []
        self.node: Any = SimpleNamespace(
            clock=self.clock,
            timers=self.timers,
            image=None,
            raft=SimpleNamespace(predecessor=(3, 77)),
            controls=True,
            controller=SimpleNamespace(
                upkeep=SimpleNamespace(due_ms=lambda image: self.due_ms),
                tick=None,
                activate=lambda image, before: self.before.append(before),
                resign=lambda: None,
            ),
            change_metadata=self._change,
        )
        self.duties = ControllerDuties(self.node)
        self.duties.changed(True)

    def _change(self, operation: object, done: Callable[[None], None]) -> None:
        self.ticked.append(self.clock.monotonic_ms())
        self.due_ms = 1 << 62
        done(None)

    def pass_time(self, by_ms: int, step_ms: int = 10) -> None:
        for _ in range(by_ms // step_ms):
            self.clock.advance(step_ms)
            self.timers.run_due()


def test_what_is_due_is_done_soon_after() -> None:
    world = World()
    world.due_ms = world.clock.monotonic_ms() + 300
    world.pass_time(300 + CHECK_MS_MAX)
    assert len(world.ticked) == 1
    world.pass_time(5000)
    assert len(world.ticked) == 1
    world.duties.changed(False)
    world.due_ms = 0
    world.pass_time(5000)
    assert len(world.ticked) == 1, "not the active controller any more"


def test_after_a_sleep_brokers_are_heard_before_they_are_judged() -> None:
    world = World()
    world.pass_time(CHECK_MS_MAX)
    world.due_ms = world.clock.monotonic_ms() + 100
    world.pass_time(20_000, step_ms=20_000)  # stopped, as a whole
    assert world.ticked == [], "their heartbeats wait in the sockets"
    world.due_ms = world.clock.monotonic_ms() + 9000  # heard
    world.pass_time(CHECK_MS_MAX + LATE_MS)
    assert world.ticked == []
    world.due_ms = world.clock.monotonic_ms()
    world.pass_time(CHECK_MS_MAX)
    assert len(world.ticked) == 1


def test_a_new_controller_is_told_since_when_the_one_before_it_is_silent() -> None:
    assert World().before == [(3, 77)]
