"""Replication throttles: rates over a window, and whom they concern."""

from __future__ import annotations

import pytest

from tapelog.replication.throttle import UNLIMITED, Throttle, ThrottledReplicas


def test_without_a_rate_nothing_is_ever_too_much() -> None:
    throttle = Throttle()
    assert not throttle.active
    throttle.record(UNLIMITED, 0)
    assert not throttle.exceeded(0)


def test_a_burst_is_worked_off_at_the_rate() -> None:
    throttle = Throttle(100)
    assert not throttle.exceeded(0)
    throttle.record(500, 10_000)
    assert throttle.exceeded(10_000)
    assert throttle.exceeded(14_900)
    assert not throttle.exceeded(15_000)


def test_what_stays_within_the_rate_is_never_held_back() -> None:
    throttle = Throttle(1000)
    for now_ms in range(0, 60_000, 100):
        throttle.record(90, now_ms)
        assert not throttle.exceeded(now_ms + 99)


def test_what_is_older_than_the_window_counts_no_more() -> None:
    throttle = Throttle(1)
    throttle.record(1_000_000, 0)
    assert throttle.exceeded(9_000)
    assert not throttle.exceeded(12_000)
    throttle.record(1, 20_000)
    assert not throttle.exceeded(21_000)


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("*", [(0, 1), (5, 9)]),
        ("", []),
        ("none", []),
        ("0:1,5:9", [(0, 1), (5, 9)]),
        (" 0:1 , 5:2", [(0, 1)]),
        ("0:x,:1,0", []),
    ],
)
def test_throttled_replicas_are_named_one_by_one_or_all(text: str, covered: list[tuple[int, int]]) -> None:
    replicas = ThrottledReplicas(text)
    assert [pair for pair in [(0, 1), (5, 9)] if replicas.covers(*pair)] == covered
