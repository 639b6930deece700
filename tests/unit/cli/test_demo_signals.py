"""The demo ends in order when its terminal is closed, and goes on under nohup."""

from __future__ import annotations

import signal

import pytest

from tapelog.cli import demo_run


@pytest.mark.parametrize(("before", "heard"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_closed_terminal_is_heard_unless_it_is_to_be_ignored(before: signal.Handlers, heard: bool) -> None:
    was = signal.signal(signal.SIGHUP, before)
    try:
        with demo_run._signals() as asked:
            signal.raise_signal(signal.SIGHUP)
            assert asked == ([signal.SIGHUP] if heard else [])
        assert signal.getsignal(signal.SIGHUP) is before
    finally:
        signal.signal(signal.SIGHUP, was)
