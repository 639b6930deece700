"""How fresh a table is: how far its youngest event, and its last commit, lie back."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import open_lake


@dataclass(frozen=True, slots=True)
class Freshness:
    """Of one table, at one moment."""

    event_lag_s: float | None
    """Since the youngest event time in the table: what a reader is behind the world. None: no event times."""
    commit_lag_s: float | None
    """Since the last batch was committed; grows while nothing comes. None: no batch yet."""
    rows: int
    files: int
    bytes: int

    @property
    def file_bytes(self) -> int:
        """The mean size of a file: small ones want `compact`."""
        return self.bytes // self.files if self.files else 0


def freshness(table: Table, *, now_ms: int | None = None) -> Freshness:
    """Ask a table how fresh it is: from its metadata only, no data is read."""
    lake = open_lake(table, Store(table))
    if lake.schema() is None:
        raise LakeError(
            f"There is no {table.format} table at {table.url}.", "Check path and format; a first batch makes it."
        )
    status = lake.status()
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    event = None if status.event_max_us is None else (now * 1000 - status.event_max_us) / 1_000_000
    commit = None if status.committed_ms is None else (now - status.committed_ms) / 1000
    return Freshness(event, commit, status.rows, status.files, status.bytes)
