"""No test is failed by a busy machine: none is judged by the clock on the wall, none waits for a moment only."""

from __future__ import annotations

import pytest

from tests.tidy import clocks, rules

ON_PURPOSE = [
    # The disk is slow by the clock: who waited for it would wait for minutes, not for seconds.
    "tests/chaos/test_overload.py::test_producers_ten_times_as_fast_as_the_disk_cost_no_memory_and_no_acknowledgement",
]
"""Tests that bound a measured time, each with its reason."""


def every_test() -> list[tuple[str, str]]:
    return list(rules.python_files(rules.ROOT, "tests/"))


def test_no_test_is_judged_by_the_clock() -> None:
    assert clocks.judged_by_the_clock(every_test()) == ON_PURPOSE


def test_what_will_happen_is_given_time() -> None:
    assert clocks.short_waits(every_test()) == []


@pytest.mark.parametrize(
    "source",
    [
        "begun = time.monotonic()\n    act()\n    assert time.monotonic() - begun < 1.2",
        "took_s = time.monotonic() - begun\n    assert took_s < 3",
        "took_s = time.perf_counter() - begun\n    assert 3 > took_s",
        "assert 0.3 <= time.time() - begun < LIMIT",
        "self.slowest_s = max(self.slowest_s, time.monotonic() - begun)\n    assert here.slowest_s < 10",
        "def progress(): return time.monotonic() - begun\n    assert longest(progress()) <= 2",
    ],
)
def test_an_upper_bound_on_measured_time_is_noticed(source: str) -> None:
    file = "tests/x.py", f"LIMIT = 5.0\ndef test_x():\n    {source}\n"
    assert clocks.judged_by_the_clock([file]) == ["tests/x.py::test_x"]


@pytest.mark.parametrize(
    "source",
    [
        "assert time.monotonic() - begun >= 0.3",
        "assert time.monotonic() < deadline",
        "assert time.thread_time() - begun < 0.5",
        "assert rig.clock.monotonic_ms() - begun < 50",
        "assert abs(found - time.time() * 1000) < 60_000",
        "assert 0 < cluster.start_seconds <= time.monotonic() - begun",
    ],
)
def test_lower_bounds_deadlines_cpu_and_clocks_of_ones_own_are_fine(source: str) -> None:
    assert clocks.judged_by_the_clock([("tests/x.py", f"def test_x():\n    {source}\n")]) == []


def test_a_wait_of_a_few_seconds_is_noticed() -> None:
    source = "thread.join(10)\nposted.get(timeout=5)\nfuture.result(10)\ndeadline = time.monotonic() + 15\n"
    assert len(clocks.short_waits([("tests/x.py", source)])) == 4


def test_generous_waits_waits_for_nothing_and_waits_that_may_fail_are_fine() -> None:
    source = "thread.join(0.3)\nposted.get(timeout=60)\n','.join(names)\ndeadline = time.monotonic() + PATIENCE_S\n"
    source += "try:\n    future.result(5)\nexcept OSError:\n    pass\n"
    source += "with pytest.raises(OSError):\n    future.result(5)\n"
    assert clocks.short_waits([("tests/x.py", source)]) == []
