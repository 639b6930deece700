"""The Arrow type, and so the Spark type, of an Avro schema: the choices of Spark's own from_avro.

A union of null and one other type is that type. int with long is long, float with double is double; any other union is
a struct with a field member0, member1, … for each branch that is not null. Times of day stay numbers.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tapelog.spark.formats.avro.schema import Array, Enum, Fixed, Map, Primitive, Record, Schema, Union
from tapelog.spark.formats.errors import SchemaError

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
LOCAL: Final = pa.timestamp("us")

_PRIMITIVES: Final[dict[str, Any]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_MERGED: Final = ((("int", "long"), "long"), (("double", "float"), "double"))


def arrow_type(schema: Schema, within: tuple[Record, ...] = ()) -> Any:
    """The type of a column with this schema; SchemaError where Spark has none."""
    match schema:
        case Primitive() | Fixed():
            return _simple(schema)
        case Enum():
            return pa.string()
        case Array():
            return pa.list_(pa.field("element", arrow_type(schema.items, within)))
        case Map():
            return pa.map_(pa.string(), pa.field("value", arrow_type(schema.values, within)))
        case Record():
            if schema in within:
                raise SchemaError(f"the record {schema.name} lies within itself, which Spark cannot show")
            return pa.struct([pa.field(one.name, arrow_type(one.type, (*within, schema))) for one in schema.fields])
        case Union():
            branches = members(schema)
            if len(branches) == 1:
                return arrow_type(branches[0], within)
            return pa.struct(
                [pa.field(f"member{number}", arrow_type(one, within)) for number, one in enumerate(branches)]
            )


def _simple(schema: Primitive | Fixed) -> Any:
    if schema.logical == "decimal":
        return pa.decimal128(schema.precision, schema.scale)
    if schema.logical == "date":
        return pa.date32()
    if schema.logical.startswith("timestamp-"):
        return TIMESTAMP
    if schema.logical.startswith("local-timestamp-"):
        return LOCAL
    return pa.binary() if isinstance(schema, Fixed) else _PRIMITIVES[schema.type]


def members(union: Union) -> list[Schema]:
    """The branches that need a column: those that are not null, numbers of one kind merged; never none."""
    branches = [one for one in union.branches if one != Primitive("null")]
    plain = sorted(one.type for one in branches if isinstance(one, Primitive) and not one.logical)
    if len(plain) == len(branches):
        for kinds, wide in _MERGED:
            if tuple(plain) == kinds:
                return [Primitive(wide)]
    return branches or [Primitive("null")]
