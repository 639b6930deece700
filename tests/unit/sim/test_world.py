"""Virtual time of several machines: one order of events, clocks that go their own way."""

from __future__ import annotations

import pytest

from tapelog.base.timers import Timers
from tapelog.sim.clock import START_WALL_MS, NodeClock
from tapelog.sim.world import NEVER_MS, World


class Sleeper:
    """An actor with timers on its own clock."""

    def __init__(self, world: World, clock: NodeClock) -> None:
        self.clock = clock
        self.timers = Timers(clock)
        world.actors.append(self)

    @property
    def due_ms(self) -> int:
        due_ms = self.timers.next_due_ms()
        return NEVER_MS if due_ms is None else self.clock.world_ms(due_ms)

    def run_due(self) -> None:
        assert self.timers.run_due() > 0, "woken too early"


def test_events_happen_in_order_of_time_and_then_of_asking() -> None:
    world, order = World(), []
    world.after(5, lambda: order.append("c"))
    world.after(1, lambda: order.append("a"))
    world.after(5, lambda: order.append("d"))
    world.after(2, lambda: order.append("never")).cancel()
    world.after(2, lambda: order.append("b"))
    world.run(10)
    assert order == ["a", "b", "c", "d"]
    assert world.now_ms == 10


@pytest.mark.parametrize("pace", [1000, 950, 1061, 333, 3001])
def test_a_timer_fires_when_the_machine_s_own_clock_says_so(pace: int) -> None:
    world = World()
    clock = NodeClock(world, monotonic_ms=77)
    clock.go_at(pace)
    sleeper, fired = Sleeper(world, clock), []
    sleeper.timers.after(700, lambda: fired.append((world.now_ms, clock.monotonic_ms())))
    world.run(5000)
    (at_ms, shown_ms) = fired[0]
    assert shown_ms in range(777, 777 + max(1, pace // 1000 + 1))
    assert abs(at_ms - 700 * 1000 / pace) <= 1


def test_a_change_of_pace_does_not_turn_the_clock_back() -> None:
    world = World()
    clock, shown = NodeClock(world), []
    for pace in (1000, 970, 1030, 500, 1000):
        clock.go_at(pace)
        for _ in range(7):
            world.run(3)
            shown.append(clock.monotonic_ms())
    assert shown == sorted(shown)


def test_the_wall_clock_jumps_and_the_other_does_not() -> None:
    world = World()
    clock = NodeClock(world)
    clock.jump_wall(-3_600_000)
    assert clock.wall_ms() == START_WALL_MS - 3_600_000
    assert clock.monotonic_ms() == 0


def test_time_that_does_not_pass_is_noticed() -> None:
    world = World()

    def again() -> None:
        world.after(0, again)

    again()
    with pytest.raises(AssertionError, match="time does not pass"):
        world.run(1)
