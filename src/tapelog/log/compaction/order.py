"""What a node asks of whoever cleans, and what it hears back: values, which fit through a pipe.

`CleaningWorker` is the port. `node/cleaner_process` has the one that is a child process, `sim/cleaning` one that takes
steps of virtual time; both carry out an order with `carried_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import astuple, dataclass
from typing import Any, Final, Protocol

from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.log.compaction import swap
from tapelog.log.compaction.cleaning import STEP_BYTES, Cleaned, Cleaning, Job, Statistics
from tapelog.log.compaction.keymap import KeyMap
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


@dataclass(frozen=True, slots=True)
class Order:
    """A log to clean, and with what means."""

    job: Job
    settings: dict[str, str]
    """Of the topic, as far as a cleaning cares."""
    map_bytes: int
    load_factor: float
    read_bytes: int
    now_ms: int


@dataclass(frozen=True, slots=True)
class Done:
    """Every group has been told: up to where the log is clean once they are in place."""

    end_offset: int
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Failed:
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


def carried_out(
    disk: Disk, order: Order, step_bytes: int = STEP_BYTES
) -> Generator[tuple[int, list[Report]], None, None]:
    """Carry out an order in steps: each yields how many bytes it has read and written, and what is to be told. The last
    one tells Done or Failed. Closing it early leaves nothing behind but finished groups."""
    try:
        keys = KeyMap(order.map_bytes, order.load_factor)
        config = LogConfig(order.settings)
        cleaning = Cleaning(disk, order.job, config, keys, order.now_ms, order.read_bytes)
    except ValueError as error:
        yield 0, [Failed(UNCLEANABLE, str(error))]
        return
    counts = cleaning.statistics
    try:
        while not cleaning.finished:
            before = counts.mapped_bytes + counts.read_bytes + counts.written_bytes
            reports: list[Report] = []
            for cleaned in cleaning.step(step_bytes):
                swap.prepare(disk, cleaned.directory, cleaned.replaced[0].base_offset)
                reports.append(cleaned)
            yield counts.mapped_bytes + counts.read_bytes + counts.written_bytes - before, reports
        yield 0, [Done(cleaning.end_offset, counts)]
    except UncleanableError as error:
        yield 0, [Failed(UNCLEANABLE, str(error))]
    except DiskFullError as full:
        yield 0, [Failed(DISK_FULL, str(full))]
    except DiskError as broken:
        yield 0, [Failed(DISK, str(broken))]
    except FileNotFoundError as absent:
        yield 0, [Failed(GONE, str(absent))]
    finally:
        cleaning.abandon()


# --- through a pipe: only what every version of marshal knows -----------------------------------------------------


def pack_order(order: Order) -> tuple[Any, ...]:
    """An order as tuples, numbers and texts."""
    job = order.job
    return (
        (
            job.directory,
            astuple(job.plan),
            [astuple(source) for source in job.segments],
            [(one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset) for one in job.aborted],
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
        return "cleaned", report.directory, [astuple(one) for one in report.replaced], report.size, report.generation
    if isinstance(report, Done):
        return "done", report.end_offset, astuple(report.statistics)
    return "failed", report.kind, report.reason


def unpack_report(packed: tuple[Any, ...]) -> Report:
    """The report again."""
    kind = packed[0]
    if kind == "cleaned":
        return Cleaned(packed[1], [Source(*one) for one in packed[2]], packed[3], packed[4])
    if kind == "done":
        return Done(packed[1], Statistics(*packed[2]))
    return Failed(packed[1], packed[2])
