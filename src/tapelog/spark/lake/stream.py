"""Streams and batches of Spark into a table: executors write files, the driver commits them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.run import Result, Sink
from tapelog.spark.lake.schema import from_spark
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.values import DataFile
from tapelog.spark.lake.write import Layout

FILE_COLUMNS: Final = "path string, partition string, rows long, bytes long, event_min_us long, event_max_us long"
"""What a task tells of each file."""

BACKFILL_OFFSETS: Final = "5000000"
"""Records per batch while a topic's past is copied, unless options say otherwise."""

_QUERY_ID: Final = "sql.streaming.queryId"


def stream_to(
    df: Any,
    table: Table,
    *,
    name: str,
    checkpoint: str,
    trigger: Mapping[str, Any] | None = None,
    restart: bool = False,
    on_batch: Callable[[int, Result], None] | None = None,
) -> Any:
    """Start a query that appends every row of a streaming DataFrame to a table, exactly once. Returns its
    StreamingQuery.

    `name` is this query's name in the table, `checkpoint` its checkpointLocation. A batch becomes visible at once. It
    is in the table once, whatever is killed and replayed, as long as the checkpoint is kept; with a new checkpoint
    the first batch fails with a LakeError, unless `restart` says that its rows may come again. `trigger` is what
    DataStreamWriter.trigger takes, {"processingTime": "10 seconds"} by default.
    """
    write = writer(table, name=name, restart=restart, on_batch=on_batch)
    stream = df.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    return stream.trigger(**(trigger or {"processingTime": "10 seconds"})).foreachBatch(write).start()


def writer(
    table: Table, *, name: str, restart: bool = False, on_batch: Callable[[int, Result], None] | None = None
) -> Callable[[Any, int], None]:
    """A function for foreachBatch that appends its batch to the table, exactly once for its query and batch number."""
    sink: list[Sink] = []

    def write(df: Any, batch: int) -> None:
        if not sink:
            sink.append(Sink(table, name=name))
        result = _write(sink[0], df, _query_of(df) or name, batch, restart, in_order=True)
        if on_batch is not None:
            on_batch(batch, result)

    return write


def write_batch(df: Any, table: Table, *, app: str, version: int, name: str = "", restart: bool = False) -> Result:
    """Append a DataFrame to the table as batch `version` of `app`; skipped if that or a younger one is there
    already."""
    return _write(Sink(table, name=name or app), df, app, version, restart, in_order=False)


def archive(
    spark: Any,
    options: Mapping[str, str],
    table: Table,
    *,
    name: str,
    checkpoint: str,
    follow: bool = True,
    trigger: Mapping[str, Any] | None = None,
    select: Callable[[Any], Any] | None = None,
    on_batch: Callable[[int, Result], None] | None = None,
) -> Any:
    """Copy a topic into a table: first all that is there, in large batches, then what comes, with no gap and no row
    twice.

    `options` are those of format("tapelog"), history from the tier included; startingOffsets is `earliest` unless
    given. Both parts share one checkpoint, so it may be stopped and started anywhere. `select` changes the DataFrame
    before it is written. Returns the running query, or the ended one where `follow` is false.
    """
    given = {"startingOffsets": "earliest", **options}
    limits = {"maxoffsetspertrigger", "maxbytespertrigger"}
    bounded = given if limits & {key.lower() for key in given} else {**given, "maxOffsetsPerTrigger": BACKFILL_OFFSETS}
    past = _load(spark, bounded, select)
    query = stream_to(past, table, name=name, checkpoint=checkpoint, trigger={"availableNow": True}, on_batch=on_batch)
    await_end(query)
    if not follow:
        return query
    coming = _load(spark, given, select)
    return stream_to(coming, table, name=name, checkpoint=checkpoint, trigger=trigger, on_batch=on_batch)


def await_end(query: Any) -> None:
    """Wait until a query ends. What stopped it is raised as the three lines it was, not inside Spark's stack traces."""
    try:
        query.awaitTermination()
    except Exception as error:
        raise from_trace(str(error)) or error from None


def from_trace(text: str) -> LakeError | None:
    """The LakeError that Spark reports somewhere in this text, if there is one."""
    found = re.search(r"tapelog\.spark\.lake\.errors\.LakeError: (.+(?:\n(?!\s*$|\s+at |Traceback|=+ ).+){0,2})", text)
    return None if found is None else LakeError(*found[1].splitlines())


def _load(spark: Any, options: Mapping[str, str], select: Callable[[Any], Any] | None) -> Any:
    df = spark.readStream.format("tapelog").options(**options).load()
    return df if select is None else select(df)


def _write(sink: Sink, df: Any, app: str, version: int, restart: bool, *, in_order: bool) -> Result:
    if "/" in app or not app:
        raise LakeError(f"app {app!r} cannot be used: it is part of a path.", "Use letters, digits, dots and dashes.")
    rows = from_spark(df.schema.jsonValue())

    def by_spark(layout: Layout) -> tuple[DataFile, ...]:
        return _by_spark(df, sink.table, layout)

    return sink.write(app, version, rows, by_spark, restart=restart, in_order=in_order)


def _query_of(df: Any) -> str | None:
    """The id of the query whose batch this is: it stays with the checkpoint. None where Spark does not tell
    (Connect)."""
    try:
        found: str | None = df.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    except Exception:
        return None
    return found


def _by_spark(df: Any, table: Table, layout: Layout) -> tuple[DataFile, ...]:
    """One pass over the rows: every task writes its files and tells of them."""
    told = df.mapInArrow(Task(table, layout), FILE_COLUMNS).collect()
    return tuple(DataFile(**row.asDict()) for row in told)


class Task:
    """What a task does; travels to executors as a frozen value."""

    def __init__(self, table: Table, layout: Layout) -> None:
        self._table = table
        self._layout = layout

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from tapelog.spark.lake.store import Store
        from tapelog.spark.lake.write import write_files

        columns = pa.schema(
            [("path", pa.string()), ("partition", pa.string())]
            + [(name, pa.int64()) for name in ("rows", "bytes", "event_min_us", "event_max_us")]
        )
        for file in write_files(batches, self._layout, Store(self._table)):
            yield pa.RecordBatch.from_pylist([file.to_json()], schema=columns)
