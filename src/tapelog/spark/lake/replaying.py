"""The way back: rows of a table, or of Parquet files, into a topic, at a bounded rate, exactly once.

The plan is kept before the first row is sent, and each chunk is one version of one application in the sink's markers
(txnAppId, txnVersion): a chunk that is sent again after a crash is skipped as far as it is in the topic.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.reading import chosen, frame
from tapelog.spark.lake.replay_plan import ReplayPlan, chunk_rows, cut, wait_s
from tapelog.spark.lake.schema import evolve, plain
from tapelog.spark.lake.spec import Table, table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import open_lake
from tapelog.spark.lake.tables.state import packed, unpacked
from tapelog.spark.lake.values import DataFile

PLAN: Final = "plan.json"
DONE: Final = "done"


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far a replay is."""

    rows: int
    chunks: int
    chunks_all: int
    rows_all: int


def replay(
    spark: Any,
    source: Table | str,
    options: Mapping[str, str],
    *,
    state: str,
    rows_per_second: float | None = None,
    since: str = "",
    until: str = "",
    select: Callable[[Any], Any] | None = None,
    tasks: int = 1,
    storage: Mapping[str, str] | None = None,
    on_progress: Callable[[Replayed], None] | None = None,
) -> Replayed:
    """Send the rows of a lake table, or of the Parquet files below a URL, to a topic, each exactly once.

    `options` are those of the sink (`kafka.bootstrap.servers`, `topic`, …), `state` a directory (URL) of this replay
    alone: with it a replay that was stopped or killed goes on where it was. `since` and `until` choose partitions.
    Rows with a column `value` are sent with their `key`, `value` and `headers`, others as JSON; `select` makes other
    rows of them. Files are sent in order of event time, rows in the order of their file, as long as one task sends
    (`tasks`). Readers see it chunk by chunk.
    """
    place = _place(state, storage)
    plan = _kept(place) or _keep(place, _planned(source, rows_per_second, since, until, tasks, storage))
    wanted = source.url if isinstance(source, Table) else source
    if plan.source != wanted:
        raise LakeError(
            f"{state} belongs to a replay of {plan.source}, not of {wanted}.",
            "Give each replay a directory of its own as state.",
        )
    first = int(place.read(DONE) or b"-1") + 1
    begun, sent = time.monotonic(), 0
    where = source if isinstance(source, Table) else _files_table(source, storage)
    for number in range(first, len(plan.chunks)):
        rows = frame(spark, where, unpacked(plan.schema), list(plan.chunks[number]))
        out = select(rows) if select else _as_records(rows)
        marked = {**options, "txnAppId": plan.app, "txnVersion": str(number)}
        out.write.format("tapelog").options(**marked).mode("append").save()
        place.put(DONE, str(number).encode())
        sent += plan.rows[number]
        if on_progress is not None:
            on_progress(Replayed(sum(plan.rows[: number + 1]), number + 1, len(plan.chunks), sum(plan.rows)))
        if number + 1 < len(plan.chunks):
            time.sleep(wait_s(sent, begun, time.monotonic(), rows_per_second))
    return Replayed(sum(plan.rows), len(plan.chunks), len(plan.chunks), sum(plan.rows))


def _planned(
    source: Table | str, rate: float | None, since: str, until: str, tasks: int, storage: Mapping[str, str] | None
) -> ReplayPlan:
    if (rate is not None and rate <= 0) or tasks < 1:
        raise LakeError(
            f"rows_per_second={rate} and tasks={tasks} must be above 0.", "Leave rows_per_second out for no limit."
        )
    if isinstance(source, Table):
        lake = open_lake(source, Store(source))
        schema, files, url = lake.schema(), lake.files(), source.url
    else:
        schema, files, url = *_footers(_files_table(source, storage), source), source
    if schema is None:
        raise LakeError(
            f"There is no {source.format if isinstance(source, Table) else ''} table at {url}.",
            "Check path and format.",
        )
    cuts = cut(chosen(files, since, until), chunk_rows(rate), tasks)
    app = f"replay-{uuid.uuid4().hex}"
    return ReplayPlan(app, url, packed(schema), tuple(chunk for chunk, _ in cuts), tuple(rows for _, rows in cuts))


def _footers(where: Table, url: str) -> tuple[Any, list[DataFile]]:
    """Schema and files of plain Parquet files, from their footers."""
    import pyarrow.parquet as pq

    store = Store(where)
    single = url.rstrip("/").rpartition("/")[2] if url.endswith(".parquet") else ""
    schema: Any = None
    files = []
    for path, size, _ in sorted(store.listed("")):
        if path.endswith(".parquet") and (not single or path == single):
            footer = pq.ParquetFile(store.reader(path))
            found = plain(footer.schema_arrow)
            schema = found if schema is None else evolve(schema, found, url).schema
            files.append(DataFile(path, None, footer.metadata.num_rows, size))
    if schema is None:
        raise LakeError(
            f"There are no files *.parquet at {url}.", "Give a lake table, a directory of Parquet files, or one file."
        )
    return schema, files


def _files_table(url: str, storage: Mapping[str, str] | None) -> Table:
    base = url.rpartition("/")[0] if url.endswith(".parquet") else url
    return table(base, format="parquet", partition="", storage=storage)


def _place(url: str, storage: Mapping[str, str] | None) -> Store:
    return Store(table(url, format="parquet", partition="", storage=storage))


def _kept(place: Store) -> ReplayPlan | None:
    found = place.read_json(PLAN)
    return None if found is None else ReplayPlan.from_json(found)


def _keep(place: Store, plan: ReplayPlan) -> ReplayPlan:
    if place.create(PLAN, json.dumps(plan.to_json()).encode()):
        return plan
    kept = _kept(place)
    assert kept is not None
    return kept


def _as_records(rows: Any) -> Any:
    """Columns for the sink: those of a topic's archive as they are, anything else as JSON."""
    from pyspark.sql import functions as sql

    if "value" in rows.columns:
        return rows.select(*(name for name in ("key", "value", "headers") if name in rows.columns))
    return rows.select(sql.to_json(sql.struct(*rows.columns)).alias("value"))
