"""Arrow arrays from chunks of rows.

Called by decode/decoder. Keys and values are views of the raw bytes (which Spark cannot read); a cast copies them out,
in C++ and into one buffer of exactly the right size. Offsets and timestamps are the walk's numbers as they are. Topic,
partition and timestamp type are the same for all rows of a chunk: slices of arrays made once. Only the columns asked
for are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.decode.scan import Chunk
from tapelog.spark.decode.walk import VIEW, Spans, validity

COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
"""All columns, in the order of Spark's Kafka source."""
ROWS_MAX: Final = 1 << 16
"""Rows of one Arrow batch."""
BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Larger chunks (one batch may be decompressed to much more) are cut into Arrow batches of about this size."""

_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_TYPES: Final[dict[str, Any]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.field("element", _HEADER)),
}


def schema_of(columns: tuple[str, ...]) -> Any:
    """The Arrow schema of these columns: exactly what PySpark derives from theirs."""
    return pa.schema([pa.field(name, _TYPES[name]) for name in columns])


def _number(value: int) -> Any:
    """An int32 for all rows."""
    return _repeated(pa.int32(), value.to_bytes(4, "little", signed=True))


def _word(value: str) -> Any:
    """A string for all rows."""
    data = value.encode()
    return _repeated(pa.string(), bytes(4) + len(data).to_bytes(4, "little"), data)


def _repeated(kind: Any, *content: bytes) -> Any:
    """From the buffers of one element. pa.scalar would do, but imports pandas, which takes longer than a small read."""
    one = pa.Array.from_buffers(kind, 1, [None, *(pa.py_buffer(part) for part in content)])
    return pa.repeat(one[0], ROWS_MAX)


_TIME_TYPES: Final = [_number(value) for value in (0, 1)]


class _Views:
    """Keys or values of a chunk, still where they were."""

    def __init__(self, spans: Spans, count: int, data: list[Any]) -> None:
        nulls = spans.nulls.getvalue()
        self._array = None
        if len(nulls) < 4 * count:
            views = spans.views.getvalue()
            views += bytes(VIEW * count - len(views))
            buffers = [_bitmap(nulls, count), pa.py_buffer(views), *data]
            self._array = pa.Array.from_buffers(pa.binary_view(), count, buffers)

    def copied(self, first: int, count: int) -> Any:
        """`count` of them from `first` on, as an array of their own."""
        if self._array is None:
            return pa.nulls(count, pa.binary())
        return self._array.slice(first, count).cast(pa.binary())


def _bitmap(nulls: bytes, count: int) -> Any:
    return pa.py_buffer(validity(nulls, count)) if nulls else None


class _Arrays:
    """One chunk, seen as columns. What a column needs of the whole chunk is made when it is first asked for."""

    def __init__(self, chunk: Chunk, count: int) -> None:
        self._rows = chunk.rows
        self._count = count
        self._data = [pa.py_buffer(part) for part in chunk.parts]
        self.time_type = 1 if chunk.append_time else 0

    @cached_property
    def keys(self) -> _Views:
        """Of all rows."""
        return _Views(self._rows.keys, self._count, self._data)

    @cached_property
    def values(self) -> _Views:
        """Of all rows."""
        return _Views(self._rows.values, self._count, self._data)

    @cached_property
    def offsets(self) -> Any:
        """Of all rows."""
        return pa.Array.from_buffers(pa.int64(), self._count, [None, pa.py_buffer(self._rows.offsets.getvalue())])

    @cached_property
    def stamps(self) -> Any:
        """Of all rows."""
        numbers = pa.py_buffer(self._rows.stamps.getvalue())
        return pa.Array.from_buffers(_TYPES["timestamp"], self._count, [None, numbers])

    @cached_property
    def headers(self) -> Any:
        """Of all rows; null where a record has none, as in Spark's Kafka source."""
        rows, kind = self._rows, _TYPES["headers"]
        headerless, total = rows.headerless.getvalue(), int(rows.header_count)
        if not total:
            return pa.nulls(self._count, kind)
        names = _Views(rows.header_names, total, self._data).copied(0, total)
        values = _Views(rows.header_values, total, self._data).copied(0, total)
        pairs = pa.StructArray.from_arrays([_text(names), values], fields=list(_HEADER))
        ends = pa.py_buffer(bytes(4) + rows.header_ends.getvalue())
        return pa.Array.from_buffers(kind, self._count, [_bitmap(headerless, self._count), ends], children=[pairs])


def _text(names: Any) -> Any:
    """As strings; what is not UTF-8 becomes the replacement character, as with Kafka's own client."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())


class Columns:
    """Makes the Arrow batches of one partition."""

    def __init__(self, topic: str, partition: int, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._schema = schema_of(columns)
        self._topic = topic
        self._partition = partition

    @cached_property
    def _topics(self) -> Any:
        return _word(self._topic)

    @cached_property
    def _partitions(self) -> Any:
        return _number(self._partition)

    def batches(self, chunk: Chunk) -> Iterator[Any]:
        """The chunk's rows as Arrow batches."""
        total, size = int(chunk.rows.count), int(chunk.size)
        if not total:
            return
        arrays = _Arrays(chunk, total)
        step = min(ROWS_MAX, max(1, total * BATCH_BYTES_MAX // max(1, size)))
        for first in range(0, total, step):
            count = min(step, total - first)
            data = [self._column(arrays, name, first, count) for name in self._columns]
            yield pa.RecordBatch.from_arrays(data, schema=self._schema)

    def _column(self, arrays: _Arrays, name: str, first: int, count: int) -> Any:
        match name:
            case "key":
                return arrays.keys.copied(first, count)
            case "value":
                return arrays.values.copied(first, count)
            case "topic":
                return self._topics.slice(0, count)
            case "partition":
                return self._partitions.slice(0, count)
            case "offset":
                return arrays.offsets.slice(first, count)
            case "timestamp":
                return arrays.stamps.slice(first, count)
            case "timestampType":
                return _TIME_TYPES[arrays.time_type].slice(0, count)
            case "headers":
                return arrays.headers.slice(first, count)
        raise AssertionError(f"no column {name}")
