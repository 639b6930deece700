"""Whether a flush round is under way is seen by whoever gives way to it, in this process or another."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from tapelog.base.ports import DiskError, File
from tapelog.log.compaction.courtesy import worked_between
from tapelog.node.flush_signal import LOOK_S, LOOKS_MAX, NOWHERE, WAIT_S_MAX, FlushSignal, FlushSignals
from tapelog.node.system import SystemDisk

WAIT_S = 10


def test_who_waits_goes_on_when_the_round_has_ended() -> None:
    signal, pauses = FlushSignal(), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            signal.lower()

    def clock() -> float:
        return 0.0

    signal.wait(pause, clock)
    assert pauses == []
    signal.raise_it()
    assert signal.wait(pause, clock)
    assert pauses == [LOOK_S] * 3


def test_nobody_waits_for_ever() -> None:
    signal, pauses = FlushSignal(), list[float]()
    signal.raise_it()
    assert not signal.wait(pauses.append, lambda: 0.0)
    assert len(pauses) == LOOKS_MAX
    assert signal.raised


def test_who_waits_gives_up_by_the_clock_where_each_look_takes_long() -> None:
    signal, clock = FlushSignal(), [0.0]

    def pause(_: float) -> None:
        clock[0] += WAIT_S_MAX / 2

    signal.raise_it()
    assert not signal.wait(pause, lambda: clock[0])
    assert clock[0] == WAIT_S_MAX == signal.waited_s


def test_memory_that_cannot_be_had_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(12, "no memory")

    monkeypatch.setattr(mmap, "mmap", refused)
    signals = FlushSignals()
    assert not signals.shared and signals.fd == NOWHERE
    signals.of("/disks/one").raise_it()
    assert signals.of("/disks/one").raised


def test_rounds_are_counted() -> None:
    signal = FlushSignal()
    seen = [signal.rounds]
    for _ in range(300):
        signal.raise_it()
        signal.lower()
        seen.append(signal.rounds)
    assert all(one != before for before, one in pairwise(seen))


def test_it_is_told_whether_somebody_worked_beside_a_round() -> None:
    signal = FlushSignal()
    idle = signal.steps
    assert not worked_between(idle, signal.steps)
    signal.step_begins()
    working = signal.steps
    assert worked_between(idle, working)
    assert worked_between(working, signal.steps)
    signal.step_ends()
    assert worked_between(working, signal.steps)
    assert worked_between(idle, signal.steps)
    assert not worked_between(signal.steps, signal.steps)


def test_each_disk_has_its_own() -> None:
    signals = FlushSignals()
    one, other = signals.of("/disks/one"), signals.of("/disks/other")
    one.raise_it()
    assert signals.of("/disks/one/").raised
    assert not other.raised


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux has memory with a descriptor to inherit")
def test_another_process_sees_them(tmp_path: Path) -> None:
    signals = FlushSignals()
    assert signals.fd != NOWHERE
    signals.of(str(tmp_path)).raise_it()
    code = (
        "import sys; from tapelog.node.flush_signal import FlushSignals; "
        "print(FlushSignals(int(sys.argv[1])).of(sys.argv[2]).raised)"
    )
    command = [sys.executable, "-c", code, str(signals.fd), str(tmp_path)]
    told = subprocess.run(command, pass_fds=(signals.fd,), capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "True"


class _Watched:
    """A file that notes whether the signal is up while it is synced."""

    def __init__(self, file: File, signal: FlushSignal) -> None:
        self.path, self._file, self._signal = file.path, file, signal
        self.raised: list[bool] = []

    def sync(self) -> None:
        self.raised.append(self._signal.raised)
        self._file.sync()

    def close(self) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()


def test_a_disk_raises_its_signal_for_a_round_and_lowers_it_before_it_tells(tmp_path: Path) -> None:
    signal, ended, seen = FlushSignal(), threading.Event(), list[bool]()

    def post(action: Callable[[], None]) -> None:
        seen.append(signal.raised)
        action()

    def done(error: DiskError | None) -> None:
        assert error is None
        ended.set()

    disk = SystemDisk(str(tmp_path), post, signal=signal)
    file = _Watched(disk.open(str(tmp_path / "f"), create=True), signal)
    disk.start_flush([cast(File, file)], done)
    assert ended.wait(WAIT_S)
    assert file.raised == [True]
    assert seen == [False]
    assert signal.rounds == 1
    file.close()
    disk.close()
