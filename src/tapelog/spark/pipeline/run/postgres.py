"""Rows into a table of PostgreSQL: for each key the newest, and a batch that comes again changes nothing.

One transaction per batch: rows are copied into a temporary table and merged, and the batch's number is kept beside.
The driver writes: PostgreSQL is the bound, not the driver.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from tapelog.spark.pipeline.model import PostgresSink
from tapelog.spark.plan.errors import PlanError

BATCHES: Final = "tapelog_batches"
"""Which batch of which sink a database has seen last."""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_STAGE: Final = "tapelog_stage"
_NUMBER: Final = "tapelog_number"
_DELETED: Final = "tapelog_deleted"
_TYPES: Final = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}


def column_type(kind: str) -> str:
    """PostgreSQL's type for one of Spark's simple types; nested ones are kept as JSON."""
    if kind.startswith("decimal"):
        return kind.replace("decimal", "numeric")
    return _TYPES.get(kind, "jsonb")


def quoted(name: str) -> str:
    """A name for SQL: `public.orders` has two parts."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def bare(name: str) -> str:
    """A column's name for SQL; a dot is part of it."""
    return '"' + name.replace('"', '""') + '"'


def create_statement(sink: PostgresSink, columns: Sequence[tuple[str, str]]) -> str:
    """The table, where it is missing."""
    every = ", ".join(f"{bare(name)} {column_type(kind)}" for name, kind in columns)
    keys = ", ".join(bare(key) for key in sink.keys)
    return f"CREATE TABLE IF NOT EXISTS {quoted(sink.table)} ({every}, PRIMARY KEY ({keys}))"


def merge_statements(sink: PostgresSink, columns: Sequence[str]) -> list[str]:
    """From the staged rows into the table: of each key the newest, and deleted ones away."""
    names, keys = [bare(name) for name in columns], [bare(key) for key in sink.keys]
    order = f"{bare(sink.order)} DESC NULLS LAST, " if sink.order else ""
    newest = f"SELECT DISTINCT ON ({', '.join(keys)}) * FROM {_STAGE} ORDER BY {', '.join(keys)}, {order}{_NUMBER} DESC"
    others = [name for name in names if name not in keys]
    table = quoted(sink.table)
    guard = ""
    if sink.order:  # what is there stays if it is newer
        guard = f" WHERE t.{bare(sink.order)} IS NULL OR excluded.{bare(sink.order)} >= t.{bare(sink.order)}"
    change = "DO NOTHING"
    if others:
        change = f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in others)}{guard}"
    made = []
    if sink.delete:
        same = " AND ".join(f"t.{key} = s.{key}" for key in keys)
        newer = (
            f" AND (t.{bare(sink.order)} IS NULL OR s.{bare(sink.order)} >= t.{bare(sink.order)})" if sink.order else ""
        )
        made.append(f"DELETE FROM {table} t USING ({newest}) s WHERE s.{_DELETED} AND {same}{newer}")
    made.append(
        f"INSERT INTO {table} AS t ({', '.join(names)}) SELECT {', '.join(names)} FROM ({newest}) s "
        f"WHERE NOT s.{_DELETED} ON CONFLICT ({', '.join(keys)}) {change}"
    )
    return made


class Upsert:
    """Writes batches of one sink. `app` names the query's checkpoint: a new one begins to count anew."""

    def __init__(self, sink: PostgresSink, dsn: str, app: str, connect: Callable[[str], Any] | None = None) -> None:
        self._sink, self._dsn, self._app = sink, dsn, app
        self._connect = connect or _connect

    def write(self, batch: int, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> bool:
        """Merge a batch; False: it was there already. Each row ends with whether it is deleted."""
        with self._connect(self._dsn) as connection, connection.cursor() as cursor:
            try:
                return self._merge(cursor, batch, columns, rows)
            except _errors() as error:
                raise PlanError(
                    f"PostgreSQL refused table {self._sink.table}: {str(error).splitlines()[0]}",
                    "The table needs a unique index on keys, and the columns that are written (columns chooses them).",
                ) from None

    def _merge(
        self, cursor: Any, batch: int, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
    ) -> bool:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {BATCHES} "
            "(app text PRIMARY KEY, batch bigint NOT NULL, at timestamptz NOT NULL)"
        )
        cursor.execute(f"SELECT batch FROM {BATCHES} WHERE app = %s FOR UPDATE", (self._app,))
        seen = cursor.fetchone()
        if seen is not None and seen[0] >= batch:
            return False
        cursor.execute(create_statement(self._sink, columns))
        names = ", ".join(bare(name) for name, _ in columns)
        typed = ", ".join(f"{bare(name)} {column_type(kind)}" for name, kind in columns)
        cursor.execute(f"CREATE TEMP TABLE {_STAGE} ({typed}, {_DELETED} boolean, {_NUMBER} bigint) ON COMMIT DROP")
        with cursor.copy(f"COPY {_STAGE} ({names}, {_DELETED}, {_NUMBER}) FROM STDIN") as copy:
            for number, row in enumerate(rows):
                copy.write_row((*row, number))
        for statement in merge_statements(self._sink, [name for name, _ in columns]):
            cursor.execute(statement)
        cursor.execute(
            f"INSERT INTO {BATCHES} VALUES (%s, %s, now()) ON CONFLICT (app) "
            "DO UPDATE SET batch = excluded.batch, at = excluded.at",
            (self._app, batch),
        )
        return True


def batch_rows(frame: Any, sink: PostgresSink) -> tuple[list[tuple[str, str]], Iterator[Sequence[Any]]]:
    """Columns with Spark's types, and rows as PostgreSQL takes them."""
    from pyspark.sql import functions as F

    chosen = list(sink.columns) or [name for name in frame.columns if not name.startswith("_")]
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    made = [_column(name, types[name]) for name in chosen]
    deleted = F.coalesce(F.expr(sink.delete).cast("boolean"), F.lit(False)) if sink.delete else F.lit(False)
    rows = frame.select(*made, deleted.alias(_DELETED)).toLocalIterator(prefetchPartitions=True)
    times = [number for number, name in enumerate(chosen) if types[name] == "timestamp"]
    return [(name, types[name]) for name in chosen], (_moments(row, times) for row in rows)


def _column(name: str, kind: str) -> Any:
    """A column as it travels: nested values as JSON, moments as microseconds, since rows would lose their time zone."""
    from pyspark.sql import functions as F

    column = F.col(bare_spark(name))
    if kind == "timestamp":
        return F.unix_micros(column).alias(name)
    return F.to_json(column).alias(name) if column_type(kind) == "jsonb" else column


def _moments(row: Sequence[Any], times: Sequence[int]) -> Sequence[Any]:
    if not times:
        return tuple(row)
    made = list(row)
    for number in times:
        if made[number] is not None:
            made[number] = _EPOCH + datetime.timedelta(microseconds=made[number])
    return made


def bare_spark(name: str) -> str:
    """A column's name for Spark; a dot is part of it."""
    return "`" + name.replace("`", "``") + "`"


def _connect(dsn: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise PlanError("PostgreSQL needs psycopg: `pip install 'tapelog[postgres]'`.") from None
    try:
        return psycopg.connect(dsn)
    except psycopg.OperationalError as error:
        raise PlanError(
            f"PostgreSQL does not answer: {refusal(str(error))}", "Check dsn, and that the server can be reached."
        ) from None


def refusal(text: str) -> str:
    """The line of libpq's words that says what failed; what it guesses about it comes after, a list of tries before.

    >>> refusal('connection failed: connection to server at "::1", port 1 failed: Connection refused\\n\\tIs the ser')
    'connection failed: connection to server at "::1", port 1 failed: Connection refused'
    """
    lines = [line.strip(" -\t") for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "failed: " in line), lines[0] if lines else "no reason given")


def _errors() -> type[BaseException]:
    try:
        import psycopg
    except ImportError:
        return ()  # type: ignore[return-value]
    return psycopg.Error
