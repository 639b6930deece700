"""What a node logs of a tier that it cannot use: each reason that somebody can mend, and the end of the trouble."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.log.tier.store import RefusedError, UnavailableError
from tapelog.log.tier.uploader import Backoff
from tapelog.node.tier import Tier
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy


@pytest.fixture
def tier(monkeypatch: pytest.MonkeyPatch) -> Tier:
    """One whose store has not been tried."""
    made: Any = Tier.__new__(Tier)
    clock = SimClock()
    made.node = SimpleNamespace(timers=Timers(clock), clock=clock)
    made.ready, made.error, made.failing_since_ms, made._stopped = False, "", -1, False
    made.topics = SimpleNamespace(start=lambda: None)
    made._backoff = Backoff(SimEntropy(1), 1, 10)
    monkeypatch.setattr(Tier, "_tick", lambda self: None)
    return made  # type: ignore[no-any-return]


def test_each_reason_is_logged_once_and_so_is_the_end(tier: Tier, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tapelog.node")
    said: list[str] = []
    for error in (
        RefusedError("there is no /tier"),
        RefusedError("there is no /tier"),
        RefusedError("/tier is empty"),
        UnavailableError("request 1 failed"),
        UnavailableError("request 2 failed"),
        None,
        None,
    ):
        caplog.clear()
        tier._probed(error)
        said.append(" ".join(caplog.messages))
        assert tier.error == ("" if error is None else str(error))
    first, again, other, away, still, back, fine = said
    assert "there is no /tier" in first and "/tier is empty" in other and "can be used" in back
    assert not (again or away or still or fine)
