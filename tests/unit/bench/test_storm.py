"""The storm's bookkeeping: a partition stands still exactly while nobody owns it."""

from __future__ import annotations

import pytest

from bench.swarm import storm


def test_a_partition_stands_still_while_nobody_owns_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(storm.time, "monotonic", lambda: now[0])
    still = storm.Stillness(2)
    still.change(set(), {0, 1})
    still.begin()
    now[0] = 10.0
    still.change({0, 1}, {0})  # 1 is given up
    assert not still.whole
    now[0] = 13.0
    still.change(set(), {1})  # by one, taken by another
    now[0] = 20.0
    still.change({0}, set())
    still.change(set(), {0})  # handed over at once
    assert still.whole
    assert still.still_s == [0.0, 3.0]
    assert still.longest_s == [0.0, 3.0]
