"""How long a cleaning process rests between two steps."""

from __future__ import annotations

import pytest

from tapelog.node.cleaner_pace import HOLD_S_MAX, Pace


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pace = Pace(lambda: self.now)

    def rest(self, size: int, busy_s: float = 0.0) -> float:
        self.pace.worked(size, busy_s)
        return self.pace.pause_s()


def test_bytes_per_second_are_kept_on_average_and_unused_time_is_not_saved_up() -> None:
    watch = Watch()
    assert watch.rest(1_000_000) == 0.0
    watch.pace.bytes_per_second = 1_000.0
    assert watch.rest(500) == pytest.approx(0.5)
    watch.now += 0.25
    assert watch.rest(500) == pytest.approx(0.75)
    watch.now += 100
    assert watch.rest(1_000) == pytest.approx(1.0)


def test_a_rate_that_changes_counts_for_the_rest_under_way() -> None:
    watch = Watch()
    watch.pace.bytes_per_second = 1.0
    assert watch.rest(1_000_000) == pytest.approx(1_000_000)
    watch.pace.bytes_per_second = 1_000_000.0
    assert watch.pace.pause_s() == pytest.approx(1.0)
    watch.now += 0.25
    watch.pace.bytes_per_second = 0.0
    assert watch.pace.pause_s() == 0.0


def test_a_part_of_the_time_is_kept_by_resting_as_long_as_that_takes() -> None:
    watch = Watch()
    assert watch.rest(1, 0.3) == 0.0
    watch.pace.share = 0.25
    assert watch.rest(1, 0.3) == pytest.approx(0.9)
    watch.now += 0.5
    assert watch.pace.pause_s() == pytest.approx(0.4)
    watch.pace.share = 0.5
    assert watch.pace.pause_s() == 0.0


def test_the_longer_of_both_rests_counts() -> None:
    watch = Watch()
    watch.pace.bytes_per_second, watch.pace.share = 1_000.0, 0.5
    assert watch.rest(2_000, 0.3) == pytest.approx(2.0)
    watch.now += 10
    assert watch.rest(100, 0.3) == pytest.approx(0.3)


def test_told_to_rest_it_rests_until_told_otherwise_but_not_for_ever() -> None:
    watch = Watch()
    watch.pace.share = 0.0
    assert watch.rest(1, 0.3) == HOLD_S_MAX
    watch.now += 0.1
    watch.pace.share = 1.0
    assert watch.pace.pause_s() == 0.0
