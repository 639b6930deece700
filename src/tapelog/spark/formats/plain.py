"""Arrow values as the plain Python values that encoders take: moments as microseconds, days as days, no datetime."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def plain_values(array: Any) -> list[Any]:
    """The values: times, dates and intervals as whole numbers (microseconds, days), structs as dicts, maps as pairs."""
    kind = plain_type(array.type)
    return (array if kind == array.type else array.cast(kind)).to_pylist()  # type: ignore[no-any-return]


def plain_type(kind: Any) -> Any:
    """The type that a type is cast to for that."""
    types = pa.types
    if types.is_timestamp(kind) or types.is_duration(kind) or types.is_time64(kind):
        return pa.int64()
    if types.is_date32(kind) or types.is_time32(kind):
        return pa.int32()
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(plain_type(kind.item_type)))
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    if types.is_large_string(kind):
        return pa.string()
    if types.is_large_binary(kind):
        return pa.binary()
    return kind
