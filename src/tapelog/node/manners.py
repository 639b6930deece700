"""How a process that works beside a node gives way to its wake-ups.

On Linux the work runs on a thread under SCHED_IDLE: whoever else wakes up goes first, at once. One that is merely niced
keeps the rest of its time slice, some milliseconds, whenever the loop, a flush thread or a client wants to go on. On a
machine that is never idle SCHED_IDLE gets next to nothing; so work goes on in stretches, and one that got less than its
least share of what it wanted is followed by some that are niced only.

What changes files is done for it by the main thread, whose priority is everybody's: within such a call it may hold a
lock of the file system's journal, and while it waited for a core every sync on that disk would wait for it.

What it asks of the disk: `node/gentle_disk`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeVar

T = TypeVar("T")

NICE: Final = 10
NICE_MOST: Final = 19
STRETCH_S: Final = 5.0
LEAST_SHARE: Final = 0.1
"""Of the time for which it could have run."""
NICED_STRETCHES: Final = 5

CpuTimes = tuple[int, int]
"""Nanoseconds for which a thread ran, and for which it waited for a core."""


def cpu_times() -> CpuTimes | None:
    """Of this thread; None where the system does not tell."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as told:
            ran, waited, _ = told.read().split()
        return int(ran), int(waited)
    except (OSError, ValueError):
        return None


def be_nice() -> None:
    """This thread counts for less than others, from now on; elsewhere than on Linux the whole process does."""
    if sys.platform != "linux":
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        return
    try:
        now = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(NICE_MOST, now + NICE))
    except OSError:
        pass  # as it was


def step_back() -> bool:
    """This thread runs when nobody else wants to, from now on; False where that cannot be had."""
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (AttributeError, OSError):
        return False
    return True


class Manners:
    """Runs work in stretches that give way, but are not kept from working for ever."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        times: Callable[[], CpuTimes | None] = cpu_times,
        step_back: Callable[[], bool] = step_back,
    ) -> None:
        self.niced_stretches = 0
        """One got too little: so many more do not step back."""
        self._clock = clock
        self._times = times
        self._step_back = step_back
        self._thread: threading.Thread | None = None
        self._errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def stretch(self, work: Callable[[Callable[[], bool]], T]) -> T:
        """What work returns or raises; it ends soon after the function it is given says that the stretch is over. Runs
        on a thread of its own, since a thread that has stepped back may not come forward again; meanwhile this one runs
        its errands."""
        results: list[T] = []
        failures: list[BaseException] = []

        def run() -> None:
            before = self._times()
            be_nice()
            back = before is not None and not self.niced_stretches and self._step_back()
            begun = self._clock()
            try:
                results.append(work(lambda: self._clock() - begun >= STRETCH_S))
            except BaseException as error:
                failures.append(error)
            after = self._times()
            self.niced_stretches = max(0, self.niced_stretches - 1)
            if back and before is not None and after is not None and _too_little(before, after):
                self.niced_stretches = NICED_STRETCHES
            self._errands.put(None)

        self._thread = threading.Thread(target=run, name="stretch")
        self._thread.start()
        while (errand := self._errands.get()) is not None:
            errand()
        self._thread.join()
        self._thread = None
        if failures:
            raise failures[0]
        return results[0]

    def errand(self, work: Callable[[], T]) -> T:
        """What work returns or raises: in a stretch, done by the thread that has not stepped back."""
        if threading.current_thread() is not self._thread:
            return work()
        results: SimpleQueue[tuple[list[T], BaseException | None]] = SimpleQueue()

        def run() -> None:
            try:
                results.put(([work()], None))
            except BaseException as error:
                results.put(([], error))

        self._errands.put(run)
        done, failure = results.get()
        if failure is not None:
            raise failure
        return done[0]


def _too_little(before: CpuTimes, after: CpuTimes) -> bool:
    ran, waited = after[0] - before[0], after[1] - before[1]
    return ran < LEAST_SHARE * (ran + waited)
