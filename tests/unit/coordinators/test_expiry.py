"""Retention looks at everything, a bounded piece per wake-up. (What expires and what does not is told in scenarios.)"""

from __future__ import annotations

import pytest

from tapelog.coordinators.offsets import expiry
from tests.unit.coordinators.story import Story


def told(story: Story, line: str) -> str:
    story.output()
    story.run(line)
    return story.output()


def test_many_offsets_are_looked_at_over_several_wake_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "OFFSETS_PER_STEP", 6)
    story = Story()
    story.run("config offsets.retention.minutes=60 offsets.retention.check.interval.ms=600000")
    for group in range(10):
        story.run(f"commit admin orders/0=1 orders/1=2 group=g{group}")
    before = story.bench.log.appends
    story.run("advance 70m")
    assert told(story, "list") == "list: nothing"
    assert story.bench.log.appends - before == 5, "two groups of two offsets per wake-up"


def test_the_next_round_begins_after_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "OFFSETS_PER_STEP", 1)
    story = Story()
    story.run("config offsets.retention.minutes=60 offsets.retention.check.interval.ms=600000")
    for group in range(3):
        story.run(f"commit admin orders/0=1 group=g{group}")
        story.run("advance 7m")
    for minutes, left in ((34, "g0 g1 g2"), (10, "g1 g2"), (10, "g2"), (10, "")):
        story.run(f"advance {minutes}m")
        found = told(story, "list")
        assert [word for word in found.split() if word.startswith("g")] == left.split()


def test_a_resignation_in_the_middle_of_a_round_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "OFFSETS_PER_STEP", 1)
    story = Story()
    story.run("config offsets.retention.minutes=60 offsets.retention.check.interval.ms=600000")
    for group in range(3):
        story.run(f"commit admin orders/0=1 group=g{group}")
    bench = story.bench
    bench.clock.now_ms += 70 * 60_000
    bench.timers.run_due()
    bench.flush()
    bench.coordinator.runtime.on_resigned(0)
    assert bench.timers.next_due_ms() is None
    bench.coordinator.runtime.on_elected(0, 2)
    bench.settle()
    assert len(bench.machine.state.group_ids()) == 2
    story.run("advance 10m")
    assert bench.machine.state.group_ids() == []


def test_offsets_of_a_group_that_is_rebalancing_or_does_something_else_do_not_expire() -> None:
    story = Story()
    story.run("config offsets.retention.minutes=60 offsets.retention.check.interval.ms=600000")
    for group, kind in (("connect", "connect"), ("stable", "consumer"), ("joining", "consumer")):
        story.run(f"commit admin orders/0=1 events/0=2 group={group}")
        story.run(f"enter {group} group={group} type={kind} session=1800000 rebalance=9000000")
        story.run(f"sync {group} assign={group}:all")
    story.run("enter late group=joining session=1800000 rebalance=9000000")
    for _ in range(3):
        story.run("advance 25m")
        story.run("heartbeat connect stable joining")
    assert told(story, "fetch connect") == "fetch connect: events/0=2 orders/0=1"
    assert told(story, "fetch stable") == "fetch stable: orders/0=1", "which it reads"
    assert told(story, "fetch joining").startswith("fetch joining: events/0=2 orders/0=1")
