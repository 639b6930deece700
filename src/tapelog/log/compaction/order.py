"""What a node asks of whoever cleans, and what it hears back: values, which fit through a pipe.

`CleaningWorker` is the port. `node/cleaner_process` has the one that is a child process, `sim/cleaning` one that takes
steps of virtual time; both carry out an order as an `Execution`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.log.compaction import swap
from tapelog.log.compaction.cleaning import STEP_BYTES, Cleaned, Cleaning, Job, Statistics
from tapelog.log.compaction.keymap import SLOT_BYTES, KeyMap, memory_for
from tapelog.log.compaction.plan import CleaningPlan, Source
from tapelog.log.compaction.source import UncleanableError
from tapelog.log.config import LogConfig
from tapelog.log.txn_index import AbortedTransaction

UNCLEANABLE: Final = "uncleanable"
"""The log is damaged: no use in trying again."""
DISK_FULL: Final = "disk full"
DISK: Final = "disk"
"""Its contents are doubtful."""
GONE: Final = "gone"
"""Files are not where they were: the log was deleted, or cut."""
DIED: Final = "died"
"""Whoever cleaned has ended; nothing is said of the log."""


class Order(NamedTuple):
    """A log to clean, and with what means."""

    job: Job
    settings: dict[str, str]
    """Of the topic, as far as a cleaning cares."""
    map_bytes: int
    load_factor: float
    read_bytes: int
    now_ms: int


class Done(NamedTuple):
    """Every group has been told: up to where the log is clean once they are in place."""

    end_offset: int
    statistics: Statistics


class Failed(NamedTuple):
    """It is over, and no further group comes."""

    kind: str
    reason: str


Report = Cleaned | Done | Failed
"""A group is written and prepared (`swap.prepare`); or the end of it."""


class CleaningWorker(Protocol):
    """Cleans one log at a time, somewhere else."""

    def clean(self, order: Order, told: Callable[[Report], None]) -> None:
        """Begin. Each report comes on the loop; after Done or Failed nothing follows, and the next order may come."""
        ...

    def abandon(self) -> None:
        """What is under way is of no use any more: nothing is told of it, and the next order may come."""
        ...

    def throttle(self, bytes_per_second: float) -> None:
        """Read and write no more than that, from now on; 0 means: as fast as it goes."""
        ...

    def share(self, part: float) -> None:
        """Work for no more than this part of the time, from now on, 1 being all of it; 0: rest until told otherwise."""
        ...

    def cpu_s(self) -> float | None:
        """CPU seconds it has taken; None where nobody knows. For telling whether it works at all."""
        ...

    def stop(self) -> None:
        """The node ends."""
        ...


CONFIGS: Final = ("segment.bytes", "segment.index.bytes", "index.interval.bytes", "delete.retention.ms")


def settings_of(config: LogConfig) -> dict[str, str]:
    """What an order says of a topic."""
    values = (
        config.segment_bytes,
        config.segment_index_bytes,
        config.index_interval_bytes,
        config.delete_retention_ms,
    )
    return {name: str(value) for name, value in zip(CONFIGS, values, strict=True)}


class Execution:
    """An order being carried out, in steps. If it is dropped without `abandon`, its files stay: as after a crash."""

    def __init__(self, disk: Disk, order: Order, step_bytes: int = STEP_BYTES) -> None:
        self.over = False
        """The last step has told Done or Failed."""
        self._disk = disk
        self._order = order
        self._step_bytes = step_bytes
        self._cleaning: Cleaning | None = None

    def step(self) -> tuple[int, list[Report]]:
        """Go on; returns how many bytes it has read and written, and what is to be told."""
        assert not self.over
        try:
            return self._step()
        except UncleanableError as error:
            return self._fail(UNCLEANABLE, error)
        except DiskFullError as full:
            return self._fail(DISK_FULL, full)
        except DiskError as broken:
            return self._fail(DISK, broken)
        except FileNotFoundError as absent:
            return self._fail(GONE, absent)

    def abandon(self) -> None:
        """Leave it, and nothing behind but groups that were told."""
        self.over = True
        if self._cleaning is not None:
            self._cleaning.abandon()

    def _step(self) -> tuple[int, list[Report]]:
        cleaning = self._cleaning
        if cleaning is None:
            cleaning = self._cleaning = self._begun()
        counts = cleaning.statistics
        before = counts.mapped_bytes + counts.read_bytes + counts.written_bytes
        reports: list[Report] = []
        for cleaned in cleaning.step(self._step_bytes):
            swap.prepare(self._disk, cleaned.directory, cleaned.replaced[0].base_offset)
            reports.append(cleaned)
        if cleaning.finished:
            self.over = True
            reports.append(Done(cleaning.end_offset, counts))
        return counts.mapped_bytes + counts.read_bytes + counts.written_bytes - before, reports

    def _begun(self) -> Cleaning:
        order = self._order
        plan = order.job.plan
        memory, most = order.map_bytes, plan.first_uncleanable - plan.first_dirty
        if most * SLOT_BYTES < memory:  # a map touches all of its memory: no more than there may be keys
            memory = min(memory, memory_for(most, order.load_factor))
        try:
            keys = KeyMap(memory, order.load_factor)
        except ValueError as error:
            raise UncleanableError(str(error)) from None
        config = LogConfig(order.settings)
        return Cleaning(self._disk, order.job, config, keys, order.now_ms, order.read_bytes)

    def _fail(self, kind: str, error: Exception) -> tuple[int, list[Report]]:
        with suppress(DiskError):  # what a dead disk keeps, the next start removes
            self.abandon()
        return 0, [Failed(kind, str(error))]


# --- through a pipe: only what every version of marshal knows -----------------------------------------------------


def pack_order(order: Order) -> tuple[Any, ...]:
    """An order as tuples, numbers and texts."""
    job = order.job
    return (
        (
            job.directory,
            tuple(job.plan),
            [tuple(source) for source in job.segments],
            [one.as_tuple() for one in job.aborted],
            job.producers,
            job.generation,
        ),
        order.settings,
        order.map_bytes,
        order.load_factor,
        order.read_bytes,
        order.now_ms,
    )


def unpack_order(packed: tuple[Any, ...]) -> Order:
    """The order again."""
    directory, plan, segments, aborted, producers, generation = packed[0]
    job = Job(
        directory,
        CleaningPlan(*plan),
        [Source(*source) for source in segments],
        [AbortedTransaction(*one) for one in aborted],
        producers,
        generation,
    )
    return Order(job, *packed[1:])


def pack_report(report: Report) -> tuple[Any, ...]:
    """A report as tuples, numbers and texts."""
    if isinstance(report, Cleaned):
        return "cleaned", report.directory, [tuple(one) for one in report.replaced], report.size, report.generation
    if isinstance(report, Done):
        return "done", report.end_offset, [getattr(report.statistics, name) for name in Statistics.__slots__]
    return "failed", report.kind, report.reason


def unpack_report(packed: tuple[Any, ...]) -> Report:
    """The report again."""
    kind = packed[0]
    if kind == "cleaned":
        return Cleaned(packed[1], [Source(*one) for one in packed[2]], packed[3], packed[4])
    if kind == "done":
        statistics = Statistics()
        for name, value in zip(Statistics.__slots__, packed[2], strict=True):
            setattr(statistics, name, value)
        return Done(packed[1], statistics)
    return Failed(packed[1], packed[2])
