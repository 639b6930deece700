"""Lets the cleaner of a node work only so much that flush rounds hardly take longer for it (`compaction/courtesy`).

While a lane is at work, the flush rounds of its disk are timed, and a few times a second its worker is told which part
of the time it may work; after a slow round it is told at once to pause. Without a stopwatch (in simulation), or with
`tapelog.cleaner.flush.slowdown.max` 0, workers always work all of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import Disk
from tapelog.base.timers import Timer
from tapelog.log.compaction.courtesy import Courtesy, Steps, worked_between

if TYPE_CHECKING:
    from tapelog.node.cleaner import Cleaner
    from tapelog.node.cleaner_lane import Lane
    from tapelog.node.flush_signal import FlushSignal

TICK_MS: Final = 50
WORKED_S: Final = 0.01
"""What CPU time is counted in. Less than that between two judgements: it did nothing, and nothing can be said of it."""
SETTING: Final = "tapelog.cleaner.flush.slowdown.max"


class _OfDisk:
    """What is known of one disk."""

    def __init__(self, disk: Disk, slowdown: float, signal: FlushSignal | None, stopwatch: Callable[[], int]) -> None:
        self.disk = disk
        self._signal = signal
        self._stopwatch = stopwatch
        self._begun: Steps = (0, 0)
        self._ended: Steps = (0, 0)
        self.courtesy = Courtesy(slowdown)
        self.lanes: list[Lane] = []
        self.cpu_s: float | None = None
        """Of its workers, when work was judged last."""

    def watch(self) -> int:
        """Nanoseconds. Asked when a round begins, and when it ends."""
        if self._signal is not None:
            self._begun, self._ended = self._ended, self._signal.steps
        return self._stopwatch()

    def seen(self, took_us: int) -> None:
        """A flush round has ended."""
        beside = self._signal is None or len(self.lanes) > 1 or worked_between(self._begun, self._ended)
        if self.courtesy.seen(took_us, beside):
            self.tell(0.0)

    def tell(self, part: float) -> None:
        """Its workers."""
        for lane in self.lanes:
            lane.worker.share(part)


class Courtesies:
    """See the module."""

    def __init__(self, cleaner: Cleaner) -> None:
        self.stopwatch: Callable[[], int] | None = None
        """Nanoseconds; the shell has one."""
        self.signal_of: Callable[[Disk], FlushSignal | None] = _none
        """Of a disk: where workers say that they work."""
        self._cleaner = cleaner
        self._disks: list[_OfDisk] = []
        self._timer: Timer | None = None

    def begin(self, lane: Lane, disk: Disk) -> None:
        """A lane begins to clean a log of that disk."""
        slowdown = self._slowdown()
        rounds = self._cleaner.node.rounds.of(disk)
        if self.stopwatch is None or slowdown <= 0 or rounds is None:
            lane.worker.share(1.0)
            return
        one = next((one for one in self._disks if one.disk is disk), None)
        if one is None:
            one = _OfDisk(disk, slowdown, self.signal_of(disk), self.stopwatch)
            self._disks.append(one)
        if not one.lanes:
            one.courtesy.begin(self._cleaner.node.clock.monotonic_ms())
            rounds.time(one.watch, one.seen)
        one.lanes.append(lane)
        lane.worker.share(0.0 if one.courtesy.resting else one.courtesy.part)
        if self._timer is None:
            self._timer = self._cleaner.node.timers.after(TICK_MS, self._tick)

    def end(self, lane: Lane) -> None:
        """It has stopped, or begins something else."""
        for one in self._disks:
            if lane in one.lanes:
                one.lanes.remove(lane)
                if not one.lanes:
                    one.courtesy.end()
                    rounds = self._cleaner.node.rounds.of(one.disk)
                    if rounds is not None:
                        rounds.time(None, None)

    def share_of(self, disk: Disk) -> float:
        """Which part of the time its cleaners work."""
        return next((one.courtesy.part for one in self._disks if one.disk is disk), 1.0)

    def _slowdown(self) -> float:
        return float(self._cleaner.node.metadata.layers.text(SETTING) or 0)

    def _tick(self) -> None:
        self._timer = None
        busy = [one for one in self._disks if one.lanes]
        if self._cleaner.stopped or not busy:
            return
        now_ms, slowdown = self._cleaner.node.clock.monotonic_ms(), self._slowdown()
        for one in busy:
            one.courtesy.slowdown = slowdown
            rounds = self._cleaner.node.rounds.of(one.disk)
            if rounds is not None and rounds.running:
                one.courtesy.heard()
            worked = _worked(one) if one.courtesy.judging(now_ms) else True
            part = one.courtesy.tick(now_ms, worked) if slowdown > 0 else 1.0
            one.tell(part)
        self._timer = self._cleaner.node.timers.after(TICK_MS, self._tick)


def _worked(one: _OfDisk) -> bool:
    """Whether its workers have used any CPU since the last judgement; True where nobody knows."""
    times = [lane.worker.cpu_s() for lane in one.lanes]
    known = [each for each in times if each is not None]
    before, one.cpu_s = one.cpu_s, sum(known) if known else None
    return before is None or one.cpu_s is None or one.cpu_s < before or one.cpu_s - before >= WORKED_S / 2


def _none(disk: Disk) -> None:
    """Nobody says; all rounds count as those beside a worker."""
