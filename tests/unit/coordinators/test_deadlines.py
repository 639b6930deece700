"""Named deadlines: one per name, cheap to move later."""

from __future__ import annotations

from tapelog.base.timers import Timers
from tapelog.coordinators.deadlines import Deadlines
from tests.unit.coordinators.bench import BenchClock


class Desk:
    def __init__(self) -> None:
        self.clock = BenchClock()
        self.timers = Timers(self.clock)
        self.deadlines = Deadlines(self.timers)
        self.fired: list[str] = []

    def set(self, name: str, delay_ms: int, text: str = "") -> None:
        self.deadlines.set(name, delay_ms, lambda: self.fired.append(text or name))

    def pass_time(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self.clock.now_ms += 1
            self.timers.run_due()


def test_a_deadline_fires_once_and_is_forgotten() -> None:
    desk = Desk()
    desk.set("a", 10)
    desk.pass_time(9)
    assert desk.fired == []
    desk.pass_time(1)
    assert desk.fired == ["a"]
    assert "a" not in desk.deadlines
    desk.pass_time(100)
    assert desk.fired == ["a"]


def test_moving_a_deadline_later_arms_no_further_timer() -> None:
    desk = Desk()
    for _ in range(50):
        desk.set("a", 100)
        desk.pass_time(10)
    assert desk.fired == []
    due = 0
    while desk.timers.next_due_ms() is not None and due < 5:
        due += 1
        desk.pass_time(100)
    assert desk.fired == ["a"]
    assert due <= 2


def test_a_deadline_can_be_moved_earlier_and_changed() -> None:
    desk = Desk()
    desk.set("a", 100, "late")
    desk.set("a", 10, "early")
    desk.pass_time(200)
    assert desk.fired == ["early"]


def test_cancelled_and_cleared_deadlines_never_fire() -> None:
    desk = Desk()
    desk.set("a", 10)
    desk.set("b", 10)
    desk.set("c", 10)
    desk.deadlines.cancel("a")
    desk.deadlines.cancel("a")
    desk.pass_time(5)
    desk.deadlines.clear()
    desk.set("c", 10)
    desk.pass_time(50)
    assert desk.fired == ["c"]
    assert len(desk.deadlines) == 0


def test_an_action_may_set_its_own_deadline_again() -> None:
    desk = Desk()

    def again() -> None:
        desk.fired.append("tick")
        if len(desk.fired) < 3:
            desk.deadlines.set("a", 10, again)

    desk.deadlines.set("a", 10, again)
    desk.pass_time(100)
    assert desk.fired == ["tick"] * 3
