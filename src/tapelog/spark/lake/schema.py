"""Schemas: Spark's into Arrow's, and how a table's schema follows that of its rows.

A new column is added; a type is widened where no value changes (int → long, float → double, more digits of a
decimal); a column that rows lack is null. Everything else stops the query: a column never changes its meaning
silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.plan.errors import listed

_PLAIN: Final[dict[str, Any]] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int32(),  # Iceberg knows no integers of fewer than 32 bits
    "short": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(-?\d+)\)")
_SIZED: Final = re.compile(r"(?:var)?char\(\d+\)|string collate .*")


@dataclass(frozen=True, slots=True)
class Evolution:
    """A table's schema after a batch, and what of it is new."""

    schema: Any
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the table's schema must be changed before rows fit into it."""
        return bool(self.added or self.widened)


def from_spark(schema: Mapping[str, Any]) -> Any:
    """Arrow's schema for a StructType's jsonValue(); every column may be null. LakeError for types that no lake
    has."""
    return pa.schema([pa.field(f["name"], _type(f["type"], f["name"])) for f in schema["fields"]])


def _type(given: Any, name: str) -> Any:
    if isinstance(given, Mapping):
        match given["type"]:
            case "struct":
                return pa.struct(
                    [pa.field(f["name"], _type(f["type"], f"{name}.{f['name']}")) for f in given["fields"]]
                )
            case "array":
                return pa.list_(pa.field("element", _type(given["elementType"], f"{name}.element")))
            case "map":
                key = pa.field("key", _type(given["keyType"], f"{name}.key"), nullable=False)
                return pa.map_(key, pa.field("value", _type(given["valueType"], f"{name}.value")))
            case other:
                given = str(other)
    if found := _DECIMAL.fullmatch(given):
        return pa.decimal128(int(found[1]), int(found[2]))
    if given in _PLAIN:
        return _PLAIN[given]
    if _SIZED.fullmatch(given):
        return pa.string()
    raise LakeError(
        f"Column {name} has the type {given}, which lake tables do not know.",
        f"Cast it before it is written: to_json({name}), or cast({name} as string).",
    )


def evolve(table: Any, rows: Any, where: str) -> Evolution:
    """The table's schema once these rows are in it. LakeError where a column would change its meaning."""
    added: list[str] = []
    widened: list[str] = []
    fields = _merge(list(table), list(rows), "", where, added, widened)
    return Evolution(pa.schema(fields), tuple(added), tuple(widened))


def _merge(
    table: list[Any], rows: list[Any], prefix: str, where: str, added: list[str], widened: list[str]
) -> list[Any]:
    coming = {field.name: field for field in rows}
    folded = {field.name.lower(): field.name for field in table}
    merged = []
    for field in table:
        new = coming.pop(field.name, None)
        name = prefix + field.name
        kept = field.type if new is None else _joined(field.type, new.type, name, where, added, widened)
        merged.append(pa.field(field.name, kept, field.nullable))
    for name, field in coming.items():
        if name.lower() in folded:
            raise LakeError(
                f"Column {prefix}{name} and {folded[name.lower()]} of {where} differ in upper and lower case only.",
                f"Rename it, as in withColumnRenamed('{name}', '{folded[name.lower()]}').",
            )
        added.append(prefix + name)
        merged.append(pa.field(name, field.type))
    return merged


def _joined(old: Any, new: Any, name: str, where: str, added: list[str], widened: list[str]) -> Any:
    if old.equals(new) or widens(new, old):
        return old
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return pa.struct(_merge(list(old), list(new), f"{name}.", where, added, widened))
    if pa.types.is_list(old) and pa.types.is_list(new):
        inner = _joined(old.value_type, new.value_type, f"{name}.element", where, added, widened)
        return pa.list_(pa.field(old.value_field.name, inner, old.value_field.nullable))
    if pa.types.is_map(old) and pa.types.is_map(new) and old.key_type.equals(new.key_type):
        inner = _joined(old.item_type, new.item_type, f"{name}.value", where, added, widened)
        return pa.map_(old.key_field, pa.field(old.item_field.name, inner, old.item_field.nullable))
    if widens(old, new):
        widened.append(name)
        return new
    raise LakeError(
        f"Column {name} of {where} is {_said(old)}, and the rows have {_said(new)}: nothing was written.",
        f"Cast it, as in withColumn('{name}', …), or give the new values a column of another name.",
        "Wider types and new columns are taken by themselves; narrower or other types are not.",
    )


def widens(old: Any, new: Any) -> bool:
    """Whether every value of the old type is the same value in the new one, as Iceberg allows it."""
    if old.equals(new):
        return True
    if pa.types.is_integer(old) and pa.types.is_integer(new):
        return bool(old.bit_width < new.bit_width)
    if pa.types.is_floating(old) and pa.types.is_floating(new):
        return bool(old.bit_width < new.bit_width)
    if pa.types.is_decimal(old) and pa.types.is_decimal(new):
        return bool(old.scale == new.scale and old.precision < new.precision)
    return False


def _said(kind: Any) -> str:
    if pa.types.is_struct(kind):
        return f"a struct of {listed(field.name for field in kind)}"
    return str(kind)


def plain(schema: Any) -> Any:
    """A schema as ours are, whichever library tells it: no large or view types, columns that may be null."""
    return pa.schema([_plain(field) for field in schema])


def _plain(field: Any, name: str = "") -> Any:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_plain(inner) for inner in kind])
    elif pa.types.is_map(kind):
        key = pa.field("key", _plain(kind.key_field).type, nullable=False)
        kind = pa.map_(key, _plain(kind.item_field, "value"))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = pa.list_(_plain(kind.value_field, "element"))
    elif pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        kind = pa.binary()
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", "UTC" if kind.tz else None)
    return pa.field(name or field.name, kind)


def fitted(batch: Any, schema: Any) -> Any:
    """A record batch as the table wants it: its columns in order, widened, null where the rows have none."""
    columns = [_fit(batch, field) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _fit(batch: Any, field: Any) -> Any:
    at = batch.schema.get_field_index(field.name)
    if at < 0:
        return pa.nulls(batch.num_rows, field.type)
    return _cast(batch.column(at), field.type)


def _cast(column: Any, to: Any) -> Any:
    if column.type.equals(to):
        return column
    if pa.types.is_struct(to) and pa.types.is_struct(column.type):
        inner = []
        for field in to:
            at = column.type.get_field_index(field.name)
            inner.append(pa.nulls(len(column), field.type) if at < 0 else _cast(column.field(at), field.type))
        return pa.StructArray.from_arrays(inner, fields=list(to), mask=column.is_null() if column.null_count else None)
    if pa.types.is_timestamp(to) and pa.types.is_timestamp(column.type) and (to.tz is None) != (column.type.tz is None):
        raise TypeError(f"{column.type} cannot become {to}")
    return column.cast(to)
