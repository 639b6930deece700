"""Small files become larger ones, beside whoever appends: no row is lost or doubled, wherever it is killed.

New files are written under new names, then one commit puts them in the place of the old ones; it succeeds only if
these are still in the table. Until then the table is as it was, and a killed compaction leaves files that `tidy`
removes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.lake.errors import ConflictError, LakeError
from tapelog.spark.lake.reading import Piece, rows_of
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import Lake, open_lake
from tapelog.spark.lake.values import DataFile
from tapelog.spark.lake.write import Layout, write_files

SMALL_SHARE: Final = 0.75
"""A file is small below this share of the wanted size."""
FILES_MIN: Final = 2
COMMIT_ATTEMPTS: Final = 50
TIDY_HOURS_MIN: Final = 1
"""Files may be written so long before they are committed; younger ones are never taken for left over."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Files of one partition that become one (or few)."""

    partition: str | None
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    files_before: int
    files_after: int
    rows: int
    given_up: int = 0
    """Bins whose files somebody else replaced meanwhile."""


def plan_compaction(files: Iterable[DataFile], wanted_bytes: int, files_min: int = FILES_MIN) -> list[Bin]:
    """Which files to put together: small ones of one partition, in order of event time, up to the wanted size."""
    partitions: dict[str | None, list[DataFile]] = {}
    for file in files:
        if file.bytes < wanted_bytes * SMALL_SHARE:
            partitions.setdefault(file.partition, []).append(file)
    bins = []
    for partition in sorted(partitions, key=lambda value: (value is not None, value or "")):
        waiting = sorted(partitions[partition], key=lambda file: (file.event_min_us or 0, file.path))
        taken: list[DataFile] = []
        for file in waiting:
            if taken and sum(each.bytes for each in taken) + file.bytes > wanted_bytes:
                bins.append(Bin(partition, tuple(taken)))
                taken = []
            taken.append(file)
        bins.append(Bin(partition, tuple(taken)))
    return [each for each in bins if len(each.files) >= max(files_min, FILES_MIN)]


def compact(table: Table, *, wanted_bytes: int | None = None, files_min: int = FILES_MIN) -> Compacted:
    """Put small files of a table together, partition by partition, each in a commit of its own. Runs where it is
    called, with pyarrow; any number of queries may append meanwhile. Two compactions at once do no harm: one gives
    up."""
    store = Store(table)
    lake = open_lake(table, store)
    schema = lake.schema()
    if schema is None:
        raise LakeError(
            f"There is no {table.format} table at {table.url}.", "Check path and format; a first batch makes it."
        )
    bins = plan_compaction(lake.files(), wanted_bytes or table.file_bytes, files_min)
    before = after = rows = given_up = 0
    for each in bins:
        new = rewrite(each, table, schema, store)
        if swap(lake, each.files, new, store):
            before, after, rows = before + len(each.files), after + len(new), rows + sum(file.rows for file in new)
        else:
            given_up += 1
    return Compacted(before, after, rows, given_up)


def rewrite(each: Bin, table: Table, schema: Any, store: Store) -> tuple[DataFile, ...]:
    """The new files of a bin; as many rows as the old ones have, or an error."""
    layout = Layout(
        schema, table.partition, f"compact-{uuid.uuid4().hex}", max(table.file_bytes, sum(f.bytes for f in each.files))
    )
    new = tuple(write_files(_rows(each, store), layout, store))
    found, wanted = sum(file.rows for file in new), sum(file.rows for file in each.files)
    if found != wanted:
        store.delete([file.path for file in new])
        raise LakeError(
            f"{table.url}: files of partition {each.partition} tell {wanted} rows and have {found}: not compacted.",
            "The table is as it was. Check whether somebody changed files by hand.",
        )
    return new


def _rows(each: Bin, store: Store) -> Iterator[Any]:
    for file in each.files:
        yield from rows_of(store, Piece(file.path))


def swap(lake: Lake, old: tuple[DataFile, ...], new: tuple[DataFile, ...], store: Store) -> bool:
    """Put new files in the place of old ones. False: some of the old ones are gone, and the new ones now, too."""
    wanted = {file.path for file in old}
    for _ in range(COMMIT_ATTEMPTS):
        lake.refresh()
        live = {file.path for file in lake.files()}
        if not wanted <= live:
            if not {file.path for file in new} & live:  # else an answer was lost: they are in
                store.delete([file.path for file in new])
                return False
            return True
        try:
            lake.replace(old, new, time.time_ns() // 1_000_000)
        except ConflictError:
            continue
        return True
    store.delete([file.path for file in new])
    return False


def tidy(table: Table, *, keep_hours: float = 168) -> int:
    """Forget versions of the table older than this, and remove files that no version needs: replaced by compaction,
    or left by killed tasks and drivers. How many files went. `keep_hours` must be longer than any batch, read or
    compaction takes."""
    if keep_hours < TIDY_HOURS_MIN:
        raise LakeError(
            f"keep_hours={keep_hours} is too short: files of a batch that is being written would be removed.",
            f"{TIDY_HOURS_MIN} is the least.",
        )
    store = Store(table)
    moment = time.time() - keep_hours * 3600
    gone = open_lake(table, store).tidy(int(moment * 1000))
    return gone + store.unfinished(keep_hours * 3600)
