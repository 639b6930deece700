"""Spark's columns as Arrow: their schema, and rows as batches for a PySpark that hands a writer rows (4.0)."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

ROWS_PER_BATCH: Final = 10_000


def arrow_schema(schema: Any) -> Any:
    """Arrow's schema of a Spark schema, with timestamps in UTC.

    From PySpark 4.2 on `to_arrow_schema` demands a time zone where there is a timestamp; before, UTC is its default.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    asked = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, timezone="UTC") if asked else to_arrow_schema(schema)


def arrow_batches(rows: Iterator[Any], schema: Any) -> Iterator[Any]:
    """The same rows, in Arrow batches of Spark's schema."""
    import pyarrow as pa

    wanted = arrow_schema(schema)
    plain = [_plain(field.type) for field in wanted]
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        columns = [
            pa.array([plain[position](row[position]) for row in chunk], type=field.type)
            for position, field in enumerate(wanted)
        ]
        yield pa.record_batch(columns, schema=wanted)


def _plain(kind: Any) -> Callable[[Any], Any]:
    """What turns a value of a row into one that Arrow takes for this type."""
    inner = _inner(kind)
    return lambda value: None if value is None else inner(value)


def _inner(kind: Any) -> Callable[[Any], Any]:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        parts = [(field.name, _plain(field.type)) for field in kind]
        return lambda row: {name: part(value) for (name, part), value in zip(parts, row, strict=True)}
    if types.is_list(kind):
        item = _plain(kind.value_type)
        return lambda items: [item(one) for one in items]
    if types.is_map(kind):
        key, each = _plain(kind.key_type), _plain(kind.item_type)
        return lambda pairs: [(key(name), each(value)) for name, value in pairs.items()]
    if types.is_binary(kind):
        return bytes  # Spark makes bytearrays
    if types.is_timestamp(kind) and kind.tz is not None:
        return _in_utc
    return lambda value: value


def _in_utc(local: datetime.datetime) -> datetime.datetime:
    """PySpark's rows tell an instant without a zone, in that of the machine; Arrow would take it for UTC."""
    return local.astimezone(datetime.UTC)
