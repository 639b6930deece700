"""A signal ends a loop or a relay in order; the second one at once."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tapelog.toolkit.outbox import Relay
from tapelog.toolkit.signals import StopOnSignal


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_and_the_second_is_as_before(number: signal.Signals) -> None:
    told: list[str] = []
    before = signal.signal(number, lambda *_: told.append("as before"))
    try:
        with StopOnSignal(lambda: told.append("stop")):
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)
    assert told == ["stop", "as before", "as before"]


def test_a_relay_ends_by_a_signal() -> None:
    class Empty:
        def open(self) -> bool:
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
            return False

        def close(self) -> None:
            told.append("closed")

    told: list[str] = []
    assert Relay(Empty(), "127.0.0.1:1", poll_seconds=5).run() == 0  # type: ignore[arg-type]
    assert told == ["closed"]
