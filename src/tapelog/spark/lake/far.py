"""Times that other readers' calendars do not have: before the year 1 and after 9999.

Kafka and Spark take them, Iceberg and Delta (and Python) do not. With on_far_timestamp="null" a task writes null in
their place, so that one such record does not stop a table.
"""

from __future__ import annotations

import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tapelog.spark.formats.plain import plain_type

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_DAYS: Final = tuple((day - _EPOCH.date()).days for day in (datetime.date.min, datetime.date.max))
_MICROS: Final = tuple(
    (at - _EPOCH) // datetime.timedelta(microseconds=1) for at in (datetime.datetime.min, datetime.datetime.max)
)
"""The first and the last that are near."""
LAST_MS: Final = _MICROS[1] // 1000


def without_far(batch: Any) -> tuple[Any, int]:
    """A record batch with null in place of each far timestamp or date, nested ones too; and how many rows had one.

    Keys of maps stay as they are, since they cannot be null.
    """
    far = [_far_rows(column) for column in batch.columns]
    if all(rows is None for rows in far):
        return batch, 0
    columns = [column if rows is None else _nulled(column) for column, rows in zip(batch.columns, far, strict=True)]
    touched = {row for rows in far if rows is not None for row in rows}
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema), len(touched)


def _bounds(kind: Any) -> tuple[int, ...]:
    """The near values of a simple type, as whole numbers; nothing for types that tell no time."""
    if pa.types.is_timestamp(kind):
        return _MICROS
    return _DAYS if pa.types.is_date32(kind) else ()


def _far_rows(column: Any) -> list[int] | None:
    """The rows with a far value somewhere, None where there is none. Most batches have none, which is seen quickly."""
    if not _has_far(column):
        return None
    values = column.cast(plain_type(column.type)).to_pylist()
    return [row for row, value in enumerate(values) if _null(value, column.type) != value] or None


def _has_far(column: Any) -> bool:
    kind = column.type
    if pa.types.is_struct(kind):
        return any(_has_far(field) for field in column.flatten())
    if pa.types.is_map(kind):
        return _has_far(column.items)  # of the rows around a slice as well, which costs a second look
    if pa.types.is_list(kind):
        return _has_far(column.flatten())
    if not (bounds := _bounds(kind)):
        return False
    found = pc.min_max(column.cast(plain_type(kind)))
    low, high = found["min"].as_py(), found["max"].as_py()
    return low is not None and (low < bounds[0] or high > bounds[1])


def _nulled(column: Any) -> Any:
    plain = plain_type(column.type)
    values = [_null(value, column.type) for value in column.cast(plain).to_pylist()]
    return pa.array(values, plain).cast(column.type)


def _null(value: Any, kind: Any) -> Any:
    """A plain value with None where it is far."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _null(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, _null(one, kind.item_type)) for key, one in value]
    if pa.types.is_list(kind):
        return [_null(one, kind.value_type) for one in value]
    bounds = _bounds(kind)
    return None if bounds and not bounds[0] <= value <= bounds[1] else value
