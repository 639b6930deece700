"""A lake without Spark: rows by pyarrow, tables that die at any call, and what must hold of every format afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tapelog.spark import lake
from tapelog.spark.lake.compaction import plan_compaction, rewrite, swap
from tapelog.spark.lake.run import Result, Sink
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import Lake, open_lake
from tapelog.spark.lake.values import DATA, INTENTS
from tapelog.spark.lake.write import Layout, write_files

APP = "7d1f2c3a-query"
BEGIN = datetime(2026, 11, 16, 22, tzinfo=UTC)
PER_BATCH = 12


class Died(BaseException):
    """The driver is killed here."""


class Dying:
    """Something whose n-th call, counted together with others, is the last: before it is performed, or after."""

    def __init__(self, inner: Any, calls: list[str], die: Callable[[int, bool], None]) -> None:
        self._inner = inner
        self._calls = calls
        self._die = die

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def called(*args: Any, **more: Any) -> Any:
            self._calls.append(name)
            number = len(self._calls)
            self._die(number, False)
            answer = found(*args, **more)
            if name == "listed":
                answer = list(answer)
            self._die(number, True)
            return answer

        return called


def table(root: Path, format: str, **more: Any) -> Table:
    """A table by the day of its column `timestamp`."""
    return lake.table(f"file://{root}/{format}", format=format, **more)


def rows(batch: int, **extra: Any) -> pa.Table:
    """Twelve rows with keys of their own, over two days and without a time."""
    keys = range(batch * PER_BATCH, (batch + 1) * PER_BATCH)
    times = [None if key % 6 == 5 else BEGIN + timedelta(hours=key % 4, seconds=key) for key in keys]
    columns = {
        "key": pa.array([f"k{key}" for key in keys]),
        "n": pa.array(keys, pa.int32()),
        "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
    }
    return pa.table(columns | extra)


def by_arrow(store: Store, given: pa.Table) -> Callable[[Layout], Any]:
    """Writes files as tasks do."""
    return lambda layout: tuple(write_files(given.to_batches(), layout, store))


def put(where: Table, batch: int, *, app: str = APP, name: str = "orders", given: pa.Table | None = None) -> Result:
    """One batch by a new driver."""
    given = rows(batch) if given is None else given
    store = Store(where)
    return Sink(where, name=name).write(app, batch, given.schema, by_arrow(store, given))


def driver(where: Table, batch: int, die: Callable[[int, bool], None]) -> list[str]:
    """One batch by a driver that may die at any call to storage or to the table. The calls it made."""
    calls: list[str] = []
    store: Any = Dying(Store(where), calls, die)
    opened: Any = Dying(open_lake(where, Store(where)), calls, die)
    given = rows(batch)
    Sink(where, name="orders", lake=opened, store=store).write(APP, batch, given.schema, by_arrow(store, given))
    return calls


def compactor(where: Table, die: Callable[[int, bool], None]) -> list[str]:
    """A compaction of everything into few files that may die at any call."""
    calls: list[str] = []
    store: Any = Dying(Store(where), calls, die)
    opened: Any = Dying(open_lake(where, Store(where)), calls, die)
    for each in plan_compaction(opened.files(), where.file_bytes):
        swap(opened, each.files, rewrite(each, where, opened.schema(), store), store)
    return calls


def never(number: int, after: bool) -> None:
    """Nobody dies."""


def dies_at(wanted: int, when: bool) -> Callable[[int, bool], None]:
    """Dies before (False) or after (True) this call is performed."""

    def die(number: int, after: bool) -> None:
        if (number, after) == (wanted, when):
            raise Died

    return die


def opened(where: Table) -> Lake:
    """The table, looked at now."""
    return open_lake(where, Store(where))


def keys(where: Table) -> Counter[str]:
    """Every key in the table, by its files."""
    store = Store(where)
    found: Counter[str] = Counter()
    for file in opened(where).files():
        read = pq.ParquetFile(store.reader(file.path)).read()
        assert read.num_rows == file.rows
        found.update(read["key"].to_pylist())
    return found


def expected(batches: int) -> Counter[str]:
    """Each key of so many batches, once."""
    return Counter(f"k{key}" for key in range(batches * PER_BATCH))


def left_over(where: Table) -> list[str]:
    """Data files that are not in the table, and attempts that are still announced."""
    store = Store(where)
    live = {file.path for file in opened(where).files()}
    data = [path for path, _, _ in store.listed(DATA) if path not in live]
    return data + [path for path, _, _ in store.listed(INTENTS)]
