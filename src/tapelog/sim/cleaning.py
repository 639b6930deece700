"""Compaction in the simulator: the order that a child process would carry out, in steps of virtual time.

Everything is as in the real one except who runs it. It may be slow, and it may die at any step, with its files left
where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tapelog.base.timers import Timer, Timers
from tapelog.log.compaction.cleaning import Cleaned
from tapelog.log.compaction.order import (
    DIED,
    Execution,
    Failed,
    Order,
    Report,
    pack_order,
    pack_report,
    unpack_order,
    unpack_report,
)
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy

STEP_BYTES_MIN: Final = 1
STEP_BYTES_MAX: Final = 3_000
STEP_MS_MAX: Final = 30
DEATHS_PER_THOUSAND: Final = 5
"""Steps after which the process is gone."""


def workers(timers: Timers, entropy: SimEntropy, disks: Mapping[str, object]) -> Callable[[], SimWorker]:
    """Makes them for one process of a node; disks: by log directory."""

    def disk_of(directory: str) -> SimDisk:
        found = next(disk for path, disk in disks.items() if directory.startswith(path + "/"))
        assert isinstance(found, SimDisk)
        return found

    return lambda: SimWorker(timers, disk_of, entropy)


class SimWorker:
    """Implements `compaction.order.CleaningWorker`."""

    def __init__(self, timers: Timers, disk_of: Callable[[str], SimDisk], entropy: SimEntropy) -> None:
        self.cleanings = 0
        self.deaths = 0
        self._timers = timers
        self._disk_of = disk_of
        self._entropy = entropy
        self._execution: Execution | None = None
        self._told: Callable[[Report], None] | None = None
        self._timer: Timer | None = None

    def clean(self, order: Order, told: Callable[[Report], None]) -> None:
        assert self._told is None, "one order at a time"
        self.cleanings += 1
        self._told = told
        copied = unpack_order(pack_order(order))
        self._execution = Execution(
            self._disk_of(order.job.directory), copied, STEP_BYTES_MIN + self._entropy.below(STEP_BYTES_MAX)
        )
        self._again()

    def abandon(self) -> None:
        self._end()

    def throttle(self, bytes_per_second: float) -> None:
        """Steps take as long as they take."""

    def share(self, part: float) -> None:
        """So do rests."""

    def cpu_s(self) -> float | None:
        return None

    def stop(self) -> None:
        self._end()

    def _again(self) -> None:
        self._timer = self._timers.after(self._entropy.below(STEP_MS_MAX), self._step)

    def _step(self) -> None:
        execution, told = self._execution, self._told
        assert execution is not None
        assert told is not None
        if self._entropy.below(1000) < DEATHS_PER_THOUSAND:
            self.deaths += 1
            self._forget()
            told(Failed(DIED, "killed"))
            return
        _, reports = execution.step()
        for report in reports:
            if self._execution is not execution:
                return
            if not isinstance(report, Cleaned):
                self._forget()
            told(unpack_report(pack_report(report)))
        if self._execution is execution:
            self._again()

    def _forget(self) -> None:
        self._execution = self._told = self._timer = None

    def _end(self) -> None:
        """Leave it; what is half written goes."""
        if self._timer is not None:
            self._timer.cancel()
        execution = self._execution
        self._forget()
        if execution is not None:
            execution.abandon()
