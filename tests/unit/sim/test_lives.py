"""Lives by the seed: what becomes of one that does not end."""

from __future__ import annotations

import pytest

from tapelog.sim import lives
from tapelog.sim.workload import Life


def test_a_life_that_goes_round_in_circles_is_told_and_the_next_one_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def circles(self: Life) -> None:
        while True:
            pass

    with monkeypatch.context() as patched:
        patched.setattr(lives, "LIFE_CPU_S_MAX", 0.05)
        patched.setattr(Life, "run", circles)
        assert lives._live_short((False, 1)).broken == "no end after 0.05 s"
    assert lives._live_short((False, 1)).broken == ""
