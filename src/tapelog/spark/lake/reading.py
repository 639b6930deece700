"""A table's rows for Spark, without jars: the driver lists files, executors read them with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.schema import fitted, plain
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables import open_lake
from tapelog.spark.lake.values import DataFile

ROWS_PER_BATCH: Final = 20_000
TASK_BYTES: Final = 64 * 1024 * 1024
"""Small files are read together by one task up to this size."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one file, from first to until; -1: to its end."""

    path: str
    first: int = 0
    until: int = -1


def read(spark: Any, table: Table, *, since: str = "", until: str = "") -> Any:
    """A DataFrame of the table as it is now; the version is fixed by this call. `since` and `until` (excluded) choose
    partitions by their value, as in "2026-11-16"; what is not chosen is not read. LakeError where there is no
    table."""
    lake = open_lake(table, Store(table))
    schema = lake.schema()
    if schema is None:
        raise _missing(table)
    files = chosen(lake.files(), since, until)
    return frame(spark, table, schema, tasks_of(files))


def rows_now(table: Table) -> Iterator[Any]:
    """The table's rows as Arrow batches, without Spark; LakeError where there is no table."""
    store = Store(table)
    lake = open_lake(table, store)
    schema = lake.schema()
    if schema is None:
        raise _missing(table)
    for file in chosen(lake.files(), "", ""):
        for rows in rows_of(store, Piece(file.path)):
            yield fitted(rows, schema)


def _missing(table: Table) -> LakeError:
    return LakeError(
        f"There is no {table.format} table at {table.url}.", "Check path and format; a first batch makes it."
    )


def chosen(files: list[DataFile], since: str, until: str) -> list[DataFile]:
    """Files of these partitions, in order of event time."""
    kept = [
        file
        for file in files
        if (not since or (file.partition or "") >= since)
        and (not until or (file.partition is not None and file.partition < until))
    ]
    return sorted(kept, key=lambda file: (file.partition or "", file.event_min_us or 0, file.path))


def tasks_of(files: list[DataFile]) -> list[tuple[Piece, ...]]:
    """Which files a task reads: neighbours together, up to a size."""
    tasks: list[tuple[Piece, ...]] = []
    room = 0
    for file in files:
        if not tasks or room < file.bytes:
            tasks.append(())
            room = TASK_BYTES
        tasks[-1] = (*tasks[-1], Piece(file.path))
        room -= file.bytes
    return tasks


def frame(spark: Any, table: Table, schema: Any, tasks: list[tuple[Piece, ...]]) -> Any:
    """A DataFrame with one task for each of these; the same rows by the same task, whenever it is evaluated."""
    ids = spark.range(0, max(len(tasks), 1), 1, max(len(tasks), 1))
    return ids.mapInArrow(Reader(table, schema, tuple(tasks)), to_spark(schema))


class Reader:
    """What a task of a read does: task n reads the n-th pieces."""

    def __init__(self, table: Table, schema: Any, tasks: tuple[tuple[Piece, ...], ...]) -> None:
        self._table = table
        self._schema = schema
        self._tasks = tasks

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        store = Store(self._table)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for piece in self._tasks[number] if number < len(self._tasks) else ():
                    for rows in rows_of(store, piece):
                        yield fitted(rows, self._schema)


def rows_of(store: Store, piece: Piece) -> Iterator[Any]:
    """A piece's rows, in the order of the file; row groups before it are not read."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(store.reader(piece.path))
    at = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if at + size > piece.first and (piece.until < 0 or at < piece.until):
            for batch in file.iter_batches(ROWS_PER_BATCH, row_groups=[group]):
                first = max(piece.first - at, 0)
                end = batch.num_rows if piece.until < 0 else min(max(piece.until - at, 0), batch.num_rows)
                if first < end:
                    yield batch.slice(first, end - first)
                at += batch.num_rows
        else:
            at += size


def to_spark(schema: Any) -> Any:
    """Spark's schema for an Arrow one."""
    from pyspark.sql.types import StructType

    return StructType.fromJson({"type": "struct", "fields": [_field(field) for field in plain(schema)]})


def _field(field: Any) -> dict[str, Any]:
    return {"name": field.name, "type": _name(field.type), "nullable": field.nullable, "metadata": {}}


def _name(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_field(field) for field in kind]}
    if pa.types.is_map(kind):
        return {
            "type": "map",
            "keyType": _name(kind.key_type),
            "valueType": _name(kind.item_type),
            "valueContainsNull": True,
        }
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _name(kind.value_type), "containsNull": True}
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    found = _NAMES.get(str(kind))
    if found is None:
        raise LakeError(
            f"A column has the type {kind}, which Spark does not know.", "Read the table by its own engine."
        )
    return found


_NAMES: Final = {
    "string": "string",
    "binary": "binary",
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "float": "float",
    "double": "double",
    "date32[day]": "date",
}


def pieces_to_json(pieces: tuple[Piece, ...]) -> list[list[Any]]:
    """For a plan that is kept."""
    return [[piece.path, piece.first, piece.until] for piece in pieces]


def pieces_from_json(given: list[list[Any]]) -> tuple[Piece, ...]:
    """And back."""
    return tuple(Piece(*each) for each in given)
