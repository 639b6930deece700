"""An Arrow batch as bytes: the buffers of the columns that make a record.

Called by encode/encoder. Buffers are copied once, since compiled code indexes bytes and nothing else at full speed.
Types have been checked against Spark's schema (`plan/write_columns`); Arrow's larger variants are narrowed.
"""

from __future__ import annotations

from typing import Any

from tapelog.spark.encode.records import Headers, Numbers, Spans


def spans(column: Any) -> Spans:
    """A string or binary column, of either size."""
    import pyarrow as pa

    if column.type not in (pa.binary(), pa.string()):
        column = column.cast(pa.string() if pa.types.is_large_string(column.type) else pa.binary())
    valid, offsets, data = column.buffers()
    return Spans(_bytes(offsets), _bytes(data), _valid(column, valid), column.offset)


def numbers(column: Any) -> Numbers:
    """A column of 32-bit numbers."""
    valid, data = column.buffers()
    return Numbers(_bytes(data), _valid(column, valid), column.offset)


def headers(column: Any) -> Headers:
    """A list of structs of a name and a value."""
    import pyarrow as pa

    if pa.types.is_large_list(column.type):
        column = column.cast(pa.list_(column.type.value_field))
    valid, offsets = column.buffers()[:2]
    pairs = column.values
    if pairs.null_count:
        raise ValueError("a header is null: leave it out, or give it a name")
    names, values = pairs.field(0), pairs.field(1)  # cut as the struct itself is
    return Headers(_bytes(offsets), _valid(column, valid), column.offset, spans(names), spans(values))


def stamps(column: Any) -> bytes:
    """Timestamps as milliseconds, i64 each; null is refused."""
    import pyarrow as pa

    if column.null_count:
        raise ValueError("a timestamp is null: leave option includeTimestamp out, or fill the column")
    millis = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    data: bytes = _bytes(millis.buffers()[1])
    return data[millis.offset * 8 : (millis.offset + len(millis)) * 8]


def dictionary(column: Any) -> tuple[list[str], Numbers]:
    """The different texts of a column, and which row has which."""
    coded = column.dictionary_encode()
    return coded.dictionary.to_pylist(), numbers(coded.indices)


def byte_sum(column: Any) -> tuple[int, int]:
    """How many bytes a binary column has, and their sum: the same in whatever order its rows come."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_binary(column.type) and not pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    _, offsets, data = column.buffers()
    if data is None or len(column) == 0:
        return 0, 0
    bounds = pa.Array.from_buffers(pa.int32(), column.offset + len(column) + 1, [None, offsets])
    start, stop = bounds[column.offset].as_py(), bounds[column.offset + len(column)].as_py()
    raw = pa.Array.from_buffers(pa.uint8(), stop, [None, data])[start:stop]
    return stop - start, pc.sum(raw).as_py() or 0


def _bytes(buffer: Any) -> bytes:
    return b"" if buffer is None else buffer.to_pybytes()


def _valid(column: Any, bitmap: Any) -> bytes:
    return b"" if bitmap is None or column.null_count == 0 else bitmap.to_pybytes()
