"""Who works beside a node gives way to it, and is not kept from working for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tapelog.base.ports import DiskError
from tapelog.node import gentle_disk
from tapelog.node.gentle_disk import GentleDisk
from tapelog.node.manners import NICED_STRETCHES, STRETCH_S, CpuTimes, Manners


class Machine:
    """One whose cores are busy, or are not."""

    def __init__(self, ran: int, waited: int) -> None:
        self.now = 0.0
        self.each = ran, waited
        self.spent = 0, 0
        self.backs = 0

    def times(self) -> CpuTimes | None:
        ran, waited = self.spent
        self.spent = ran + self.each[0], waited + self.each[1]
        return ran, waited

    def step_back(self) -> bool:
        self.backs += 1
        return True

    def manners(self) -> Manners:
        return Manners(lambda: self.now, self.times, self.step_back)


def test_a_stretch_gives_what_its_work_gives() -> None:
    machine = Machine(1, 0)
    assert machine.manners().stretch(lambda _: 7) == 7

    def fails(_: Callable[[], bool]) -> int:
        raise BrokenPipeError("gone")

    with pytest.raises(BrokenPipeError, match="gone"):
        machine.manners().stretch(fails)


def test_a_stretch_is_over_after_its_time() -> None:
    machine, seen = Machine(1, 0), list[bool]()

    def work(over: Callable[[], bool]) -> None:
        seen.append(over())
        machine.now += STRETCH_S
        seen.append(over())

    machine.manners().stretch(work)
    assert seen == [False, True]


def test_every_stretch_steps_back_while_the_machine_has_time() -> None:
    machine = Machine(2, 8)
    polite = machine.manners()
    for number in range(1, 4):
        polite.stretch(lambda _: None)
        assert machine.backs == number


def test_after_a_stretch_that_got_next_to_nothing_come_some_that_do_not_step_back() -> None:
    machine = Machine(1, 99)
    polite = machine.manners()
    for backs in (1, *[1] * NICED_STRETCHES, 2, *[2] * NICED_STRETCHES, 3):
        polite.stretch(lambda _: None)
        assert machine.backs == backs


def test_nobody_steps_back_where_it_could_not_be_noticed_that_this_was_too_much() -> None:
    machine = Machine(1, 0)
    Manners(lambda: 0.0, lambda: None, machine.step_back).stretch(lambda _: None)
    assert machine.backs == 0


def test_what_changes_files_is_done_by_the_thread_that_has_not_stepped_back(tmp_path: Path) -> None:
    polite, path = Manners(), str(tmp_path / "f")
    disk = GentleDisk(str(tmp_path), lambda action: action(), polite)
    seen: list[threading.Thread] = []

    def told(*_: int) -> int:
        seen.append(threading.current_thread())
        return 0

    def work(_: Callable[[], bool]) -> bytes:
        assert polite.errand(threading.current_thread) is threading.main_thread()
        file = disk.open(path, create=True)
        file.write([b"abc"])
        file.sync()
        disk.rename(path, path + "2")
        disk.sync_dir(str(tmp_path))
        with pytest.raises(DiskError):
            disk.rename(path, path + "2")
        return file.read(0, 3)

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(gentle_disk, "_loaded", [told])
        assert polite.stretch(work) == b"abc"
    assert seen == [threading.main_thread()]
    disk.remove(path + "2")
    assert list(tmp_path.iterdir()) == []
    disk.close()


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="Linux")
def test_only_the_stretch_itself_runs_when_nobody_else_wants_to() -> None:
    assert Manners().stretch(lambda _: os.sched_getscheduler(0)) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="Linux")
def test_a_stretch_that_does_not_step_back_is_niced() -> None:
    polite = Manners(step_back=lambda: False)
    here = os.getpriority(os.PRIO_PROCESS, 0)
    assert polite.stretch(lambda _: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())) == min(19, here + 10)
    assert os.getpriority(os.PRIO_PROCESS, 0) == here
