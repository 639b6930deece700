"""Rows as Arrow batches, for a PySpark that hands a writer rows (4.0)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

ROWS_PER_BATCH: Final = 10_000


def arrow_batches(rows: Iterator[Any], schema: Any) -> Iterator[Any]:
    """The same rows, in Arrow batches of Spark's schema."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(schema)
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        columns = [
            pa.array([_plain(row[position]) for row in chunk], type=field.type) for position, field in enumerate(wanted)
        ]
        yield pa.record_batch(columns, schema=wanted)


def _plain(value: Any) -> Any:
    """Rows inside rows become dicts, as Arrow wants structs; bytearrays become bytes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: _plain(one) for name, one in value.asDict().items()}
    return value
