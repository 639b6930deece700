"""Arrow arrays from columns that have grown."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tapelog.spark.decode.walk import validity
from tapelog.spark.formats.columns import Bools, Column, Decimals, Int32s, Int64s, Lists, Nulls, Structs, Views


class Spoilt(Exception):
    """A column holds a value that Arrow does not take: text that is not UTF-8, a decimal with too many digits."""


def column_of(kind: Any) -> Column:
    """The column that values of an Arrow type grow in."""
    types = pa.types
    if types.is_boolean(kind):
        return Bools()
    if types.is_null(kind):
        return Nulls()
    if types.is_string(kind) or types.is_binary(kind):
        return Views(types.is_string(kind))
    if types.is_decimal(kind):
        return Decimals(kind.precision)
    if types.is_struct(kind):
        return Structs([column_of(field.type) for field in kind])
    if types.is_map(kind):
        return Lists(Structs([column_of(kind.key_type), column_of(kind.item_type)]))
    if types.is_list(kind):
        return Lists(column_of(kind.value_type))
    return Int32s() if kind.bit_width == 32 else Int64s()


def array_of(column: Column, kind: Any, parts: list[Any]) -> Any:
    """What has grown, as an array of this type; Spoilt. `parts`: the buffers that views point into."""
    count = int(column.count)
    nulls = column.nulls.getvalue()
    bitmap = pa.py_buffer(validity(nulls, count)) if nulls else None
    if isinstance(column, Nulls):
        return pa.nulls(count)
    if isinstance(column, Structs):
        children = [array_of(child, field.type, parts) for child, field in zip(column.fields, kind, strict=True)]
        return pa.Array.from_buffers(kind, count, [bitmap], children=children)
    if isinstance(column, Lists):
        ends = pa.py_buffer(bytes(4) + column.data.getvalue())
        entries = pa.struct([kind.key_field, kind.item_field]) if pa.types.is_map(kind) else kind.value_type
        items = array_of(column.items, entries, parts)
        return pa.Array.from_buffers(kind, count, [bitmap, ends], children=[items])
    data = pa.py_buffer(column.data.getvalue())
    if isinstance(column, Bools):
        numbers = pa.Array.from_buffers(pa.uint8(), count, [bitmap, data])
        return numbers.cast(pa.bool_())
    if isinstance(column, Views):
        views = pa.Array.from_buffers(pa.binary_view(), count, [bitmap, data, *parts])
        try:
            return views.cast(pa.binary()).cast(kind)
        except pa.ArrowInvalid:
            raise Spoilt from None
    array = pa.Array.from_buffers(kind, count, [bitmap, data])
    if isinstance(column, Decimals):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            raise Spoilt from None
    return array
