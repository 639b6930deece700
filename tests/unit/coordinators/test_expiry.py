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
