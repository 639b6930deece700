"""A batch into a table: performs what the machine of `protocol.py` asks for, through a store and a format's library.

Whoever calls brings the function that writes the files: tasks of Spark, or pyarrow in tests. It may be called once,
and gets the layout that the table wants.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.lake.errors import ConflictError, LakeError
from tapelog.spark.lake.protocol import Batch, Step, doomed
from tapelog.spark.lake.schema import evolve
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import Lake, open_lake
from tapelog.spark.lake.values import DATA, INTENTS, Commit, DataFile
from tapelog.spark.lake.write import Layout

EVOLVE_ATTEMPTS: Final = 20
"""So often may others change the table while its schema is to be changed."""

EVENT_COLUMNS: Final = ("timestamp",)
"""Where a table has no partitions, freshness is told by this column, if rows have it."""

Writer = Callable[[Layout], tuple[DataFile, ...]]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a batch."""

    rows: int
    files: int
    bytes: int
    skipped: bool
    """It was in the table already."""


class Sink:
    """A table that takes batches of one query, exactly once each."""

    def __init__(self, table: Table, *, name: str, lake: Lake | None = None, store: Store | None = None) -> None:
        self.table = table
        self.name = name
        self._store = store or Store(table)
        self._lake = lake or open_lake(table, self._store)
        self._known: str | None = None

    def write(
        self, app: str, version: int, rows: Any, write: Writer, *, restart: bool = False, in_order: bool = False
    ) -> Result:
        """Get one batch into the table: `rows` is its Arrow schema, `write` makes its files.

        LakeError where the schema does not fit, or where another query wrote under this name (its checkpoint is lost,
        or is another one): with `restart` this one takes over and begins anew. `in_order`: batches are a stream's, of
        which only the last one can come again; an older one has other rows than it had then, and is an error.
        """
        batch = Batch(version, uuid.uuid4().hex)
        self._lake.refresh()
        self._check_owner(app, restart)
        seen = self._lake.marker(app, version)
        if in_order and seen is not None and seen.version > version:
            raise LakeError(
                f"Batch {version} of {self.name!r} comes after batch {seen.version}, which is in {self.table.url}.",
                "The query runs on an older copy of its checkpoint, or began anew under a name that is taken.",
                "Use the newest copy, or another name= (its rows are added to those there); nothing was written now.",
            )
        if seen is None or seen.version < version:
            # the table is made or changed before the machine looks: between its look and its commit nobody looks anew
            layout = self._layout(rows, batch.attempt)
        while batch.step is not Step.DONE:
            match batch.step:
                case Step.LOOK:
                    batch.looked(self._lake.marker(app, version))
                case Step.ANNOUNCE:
                    self._store.put(_intent(app, version, batch.attempt), b"")
                    batch.announced()
                case Step.WRITE:
                    batch.written(write(layout))
                case Step.COMMIT:
                    self._commit(app, batch)
                case Step.LOOK_AGAIN:
                    self._lake.refresh()
                    batch.looked(self._lake.marker(app, version))
                case Step.SWEEP:
                    self._sweep(app, batch)
                    batch.swept()
        done = () if batch.skipped else batch.files
        return Result(sum(f.rows for f in done), len(done), sum(f.bytes for f in done), batch.skipped)

    def _check_owner(self, app: str, restart: bool) -> None:
        if self._known == app:
            return
        owner = self._lake.owner(self.name)
        if owner is not None and owner != self._lake.sign(app) and not restart:
            raise LakeError(
                f"{self.table.url} was written by another query {self.name!r}: this one has another checkpoint.",
                "Give it the checkpoint that it had, so that it goes on where it was;",
                "or another name= (its rows are added to those there), or restart=True once, to take the name over.",
            )
        self._known = app

    def _layout(self, rows: Any, attempt: str) -> Layout:
        """How files must look so that the table takes them; the table is made, or its schema changed, before."""
        part = self.table.partition
        if part is not None:
            _check_event(rows, part.column, part.every, self.table.url)
        for _ in range(EVOLVE_ATTEMPTS):
            schema = self._lake.schema()
            if schema is None:
                self._lake.create(rows)
                continue
            change = evolve(schema, rows, self.table.url)
            event = next((name for name in EVENT_COLUMNS if change.schema.get_field_index(name) >= 0), "")
            layout = Layout(
                change.schema,
                part,
                attempt,
                self.table.file_bytes,
                part.column if part else event,
                far_is_null=self.table.on_far_timestamp == "null",
            )
            if not change.changed:
                return layout
            try:
                self._lake.evolve(change)
            except ConflictError:
                pass
            self._lake.refresh()
        raise LakeError(
            f"{self.table.url} is changed by others all the time: its schema could not be.", "Try again later."
        )

    def _commit(self, app: str, batch: Batch) -> None:
        now_ms = time.time_ns() // 1_000_000
        try:
            self._lake.append(Commit(app, batch.version, batch.attempt, self.name, batch.files, now_ms))
        except ConflictError:
            if not batch.conflicted():
                raise LakeError(
                    f"{self.table.url} is changed all the time: batch {batch.version} could not be committed.",
                    "Nothing of it is in the table; start the query again, or let compaction run less often.",
                ) from None
        except OverflowError:
            raise LakeError(
                f"Batch {batch.version} for {self.table.url} has a time outside the years 1 to 9999.",
                f"{self.table.format} tables cannot hold it here, and nothing of the batch was written.",
                'Give the table on_far_timestamp="null" (option onFarTimestamp), which makes such times null; '
                "or leave such rows out (select=, where).",
            ) from None
        else:
            batch.committed()

    def _sweep(self, app: str, batch: Batch) -> None:
        """Remove what attempts left that can never be committed any more; forget the others that are done."""
        prefix = f"{INTENTS}/{app}"
        intents = [_parse(path) for path, _, _ in self._store.listed(prefix)]
        files, forgotten = doomed(intents, batch)
        if files:
            live = {file.path for file in self._live()}
            dead = tuple(attempt for _, attempt in files)
            found = [path for path, _, _ in self._store.listed(DATA) if path.rpartition("/")[2].startswith(dead)]
            self._store.delete([path for path in found if path not in live])
        self._store.delete([_intent(app, *each) for each in [*files, *forgotten]])

    def _live(self) -> list[DataFile]:
        self._lake.refresh()
        return self._lake.files()


def _intent(app: str, version: int, attempt: str) -> str:
    return f"{INTENTS}/{app}/{version:020d}-{attempt}"


def _parse(path: str) -> tuple[int, str]:
    version, _, attempt = path.rpartition("/")[2].partition("-")
    return int(version), attempt


def _check_event(rows: Any, column: str, every: str, where: str) -> None:
    import pyarrow as pa

    at = rows.get_field_index(column)
    kind = rows.field(at).type if at >= 0 else None
    if kind is None or not (pa.types.is_timestamp(kind) or (pa.types.is_date(kind) and every == "day")):
        what = "rows have no such column" if kind is None else f"it is {kind}"
        raise LakeError(
            f"{where} is to be partitioned by {every}({column}), but {what}.",
            f"Columns are {', '.join(rows.names)}: give partition='day(…)' of a timestamp, or '' for none.",
        )
