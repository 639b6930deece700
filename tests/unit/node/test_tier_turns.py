"""Whose turn it is to copy, when copies end at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.node.tier import Tier
from tapelog.sim.clock import SimClock


def test_copies_that_fail_at_once_while_others_wait_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    tier: Any = Tier.__new__(Tier)
    timers = Timers(SimClock())
    tier.node = SimpleNamespace(setting_int=lambda name: 1, timers=timers)
    tier._copying, tier._stopped, tier._waiting = 1, False, dict.fromkeys(range(2000))
    tier._led = {key: SimpleNamespace(key=key, uploader=SimpleNamespace(operation=None)) for key in range(2000)}
    looked: list[int] = []

    def look(self: Any, held: Any) -> None:
        looked.append(held.key)
        tier._copying += 1
        tier._copied()

    monkeypatch.setattr(Tier, "_look", look)
    tier._copied()
    while timers.run_due():
        pass
    assert looked == list(range(2000)) and tier._copying == 0
