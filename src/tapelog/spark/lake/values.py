"""Values of the lake: a data file, the marker of a batch, a commit. Frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

DATA: Final = "data"
"""Data files lie below this directory of a table."""

INTENTS: Final = "_intents"
"""Attempts to write a batch announce themselves below this directory, so that what a crash left can be found."""

NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
"""The directory of rows without an event time, as Hive, Spark and Delta call it."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table: its path below the table's location, and what planning wants to know of it."""

    path: str
    partition: str | None
    """2026-11-16 or 2026-11-16-19; None where event times are null, or where the table has no partitions."""
    rows: int
    bytes: int
    event_min_us: int | None = None
    event_max_us: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As in the log of a Parquet table."""
        return {
            "path": self.path,
            "partition": self.partition,
            "rows": self.rows,
            "bytes": self.bytes,
            "event_min_us": self.event_min_us,
            "event_max_us": self.event_max_us,
        }


@dataclass(frozen=True, slots=True)
class Marker:
    """The newest batch of an application that is in the table, and which attempt put it there."""

    version: int
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one batch adds to a table: all of it becomes visible at once, the marker included, or nothing."""

    app: str
    """The query's id: its batches are numbered by `version`, which only grows."""
    version: int
    attempt: str
    name: str
    """The query's name; the table remembers which query id goes by it."""
    files: tuple[DataFile, ...]
    now_ms: int

    @property
    def rows(self) -> int:
        """Of all its files."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class Status:
    """A table as it is now, as far as freshness asks."""

    rows: int
    files: int
    bytes: int
    committed_ms: int | None
    """When the last batch was committed, by the writer's clock."""
    event_max_us: int | None
    """The youngest event time in the table."""


def newest(files: tuple[DataFile, ...] | list[DataFile], known: int | None = None) -> int | None:
    """The youngest event time of these files and of what was known before."""
    times = [file.event_max_us for file in files if file.event_max_us is not None]
    if known is not None:
        times.append(known)
    return max(times, default=None)
