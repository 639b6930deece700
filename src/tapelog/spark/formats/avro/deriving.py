"""An Avro schema for an Arrow type, where nobody gave one: every field may be null, as Spark's own to_avro has it."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.formats.errors import SchemaError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def derived(kind: Any, name: str) -> Any:
    """The schema of a column that is never null, as JSON has it; SchemaError where Avro has no such type."""
    types = pa.types
    if types.is_struct(kind):
        for field in kind:
            if not _NAME.fullmatch(field.name):
                raise SchemaError(f"Avro has no field names like {field.name!r}")
        fields = [
            {"name": field.name, "type": ["null", derived(field.type, f"{name}_{field.name}")], "default": None}
            for field in kind
        ]
        space, _, short = name.rpartition(".")
        return {"type": "record", "name": short, **({"namespace": space} if space else {}), "fields": fields}
    if types.is_list(kind):
        return {"type": "array", "items": ["null", derived(kind.value_type, name)]}
    if types.is_map(kind):
        return {"type": "map", "values": ["null", derived(kind.item_type, name)]}
    if types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if types.is_timestamp(kind):
        local = "" if kind.tz else "local-"
        return {"type": "long", "logicalType": f"{local}timestamp-micros"}
    if types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    for fits, word in (
        (types.is_boolean(kind), "boolean"),
        (types.is_integer(kind) and kind.bit_width <= 32, "int"),
        (types.is_int64(kind), "long"),
        (types.is_float32(kind), "float"),
        (types.is_float64(kind), "double"),
        (types.is_string(kind), "string"),
        (types.is_binary(kind), "bytes"),
    ):
        if fits:
            return word
    raise SchemaError(f"Avro has no type for {kind}")
