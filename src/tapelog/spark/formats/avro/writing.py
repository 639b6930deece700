"""Rows into Avro bytes: a function per pair of Arrow type and schema, made once; what does not fit is told then.

Fields are found by name. A field that the schema alone has takes its default; one that the data alone has is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tapelog.spark.formats.avro.defaults import default_bytes, number_bytes
from tapelog.spark.formats.avro.schema import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    kind_of,
)
from tapelog.spark.formats.columns import Corrupt
from tapelog.spark.formats.errors import SchemaError

Writer: TypeAlias = Callable[[Any], bytes]
"""A value that is not null, as `plain.plain_values` gives it, into bytes."""

_FLOAT: Final = struct.Struct("<f").pack
_DOUBLE: Final = struct.Struct("<d").pack
_SCALES: Final = {"millis": (1, 1000), "micros": (1, 1), "nanos": (1000, 1)}
"""What microseconds are multiplied with and divided by."""
_MULTIPLES: Final = {"s": 1_000_000, "ms": 1000, "us": 1}


def avro_writer(kind: Any, schema: Schema, path: str = "the value") -> Writer:
    """What writes values of an Arrow type by this schema; SchemaError if they do not fit. Null only where allowed."""
    if isinstance(schema, Union):
        return _union(kind, schema, path)
    if schema == Primitive("null"):
        return _never_null if not pa.types.is_null(kind) else lambda value: b""
    inner = _present(kind, schema, path)

    def write(value: Any) -> bytes:
        if value is None:
            raise Corrupt(f"{path} is null, which the schema does not allow")
        return inner(value)

    return write


def _never_null(value: Any) -> bytes:
    if value is not None:
        raise Corrupt("there is a value where the schema has only null")
    return b""


def _union(kind: Any, schema: Union, path: str) -> Writer:
    branches = schema.branches
    null = next((number_bytes(i) for i, one in enumerate(branches) if one == Primitive("null")), None)
    others = [(i, one) for i, one in enumerate(branches) if one != Primitive("null")]
    members = [field.name for field in kind] if pa.types.is_struct(kind) else []
    if len(others) > 1 and members == [f"member{i}" for i in range(len(others))]:
        return _members(kind, others, null, path)
    chosen: tuple[bytes, Writer] | None = None
    trouble = f"{path} is {kind}, which the schema's union does not have"
    for number, branch in others:
        try:
            chosen = number_bytes(number), _present(kind, branch, path)
            break
        except SchemaError as error:
            trouble = str(error) if len(others) == 1 else trouble
    if chosen is None and not pa.types.is_null(kind):
        raise SchemaError(trouble)

    def write(value: Any) -> bytes:
        if value is None:
            if null is None:
                raise Corrupt(f"{path} is null, which the schema does not allow")
            return null
        assert chosen is not None
        return chosen[0] + chosen[1](value)

    return write


def _members(kind: Any, others: list[tuple[int, Schema]], null: bytes | None, path: str) -> Writer:
    writers = [
        (field.name, number_bytes(number), _present(field.type, branch, f"{path}.{field.name}"))
        for field, (number, branch) in zip(kind, others, strict=True)
    ]

    def write(value: Any) -> bytes:
        for name, number, writer in writers:
            if value is not None and value[name] is not None:
                return number + writer(value[name])
        if null is None:
            raise Corrupt(f"{path} is null, which the schema does not allow")
        return null

    return write


def _present(kind: Any, schema: Schema, path: str) -> Writer:
    match schema:
        case Record():
            return _record(kind, schema, path)
        case Array():
            if not pa.types.is_list(kind):
                raise _unfit(kind, schema, path)
            item = avro_writer(kind.value_type, schema.items, f"{path}[]")
            return lambda value: _block([item(one) for one in value])
        case Map():
            if not pa.types.is_map(kind) or not pa.types.is_string(kind.key_type):
                raise _unfit(kind, schema, path)
            each = avro_writer(kind.item_type, schema.values, f"{path}{{}}")
            return lambda value: _block([_sized(name.encode()) + each(one) for name, one in value])
        case Enum():
            numbers = {symbol: number_bytes(number) for number, symbol in enumerate(schema.symbols)}
            if not pa.types.is_string(kind):
                raise _unfit(kind, schema, path)
            return lambda value: _known(numbers, value, path)
        case Primitive() | Fixed():
            return _simple(kind, schema, path)
    raise _unfit(kind, schema, path)


def _record(kind: Any, schema: Record, path: str) -> Writer:
    if not pa.types.is_struct(kind):
        raise _unfit(kind, schema, path)
    here = {field.name: field.type for field in kind}
    extra = [name for name in here if name not in [one.name for one in schema.fields]]
    if extra:
        raise SchemaError(f"{path} has a field {extra[0]} that the schema {schema.name} does not have")
    parts = [(one.name if one.name in here else None, _field(one, here, path)) for one in schema.fields]
    if all(name is not None for name, _ in parts):
        return lambda value: b"".join([writer(value[name]) for name, writer in parts])
    return lambda value: b"".join([writer(None if name is None else value[name]) for name, writer in parts])


def _field(field: Field, here: dict[str, Any], path: str) -> Writer:
    if field.name in here:
        return avro_writer(here[field.name], field.type, f"{path}.{field.name}".removeprefix("the value."))
    if not field.has_default:
        if isinstance(field.type, Union) and Primitive("null") in field.type.branches:
            null = number_bytes(field.type.branches.index(Primitive("null")))
            return lambda value: null
        raise SchemaError(f"{path} lacks the field {field.name}, for which the schema has no default")
    data = default_bytes(field.type, field.default)
    return lambda value: data


def _simple(kind: Any, schema: Primitive | Fixed, path: str) -> Writer:
    types = pa.types
    if schema.logical == "decimal":
        if not types.is_decimal(kind) or kind.scale != schema.scale or kind.precision > schema.precision:
            raise _unfit(kind, schema, path)
        return _decimal(schema)
    if isinstance(schema, Fixed):
        if not types.is_binary(kind):
            raise _unfit(kind, schema, path)
        return lambda value: _exactly(value, schema.size, path)
    name = schema.type
    if name in ("int", "long") and types.is_timestamp(kind):
        return _moment(kind, schema, path)
    whole = types.is_integer(kind) or types.is_date32(kind) or types.is_time(kind)
    if whole and name in ("int", "long") and (name == "long" or kind.bit_width <= 32):
        return number_bytes
    number = types.is_floating(kind) or types.is_integer(kind)
    if name == "double" and number:
        return _DOUBLE
    if name == "float" and number and kind.bit_width <= 32:
        return _FLOAT
    if name == "boolean" and types.is_boolean(kind):
        return lambda value: b"\x01" if value else b"\x00"
    if name == "string" and types.is_string(kind):
        return lambda value: _sized(value.encode())
    if name == "bytes" and (types.is_binary(kind) or types.is_string(kind)):
        return lambda value: _sized(value if isinstance(value, bytes) else value.encode())
    raise _unfit(kind, schema, path)


def _moment(kind: Any, schema: Primitive, path: str) -> Writer:
    if "timestamp-" not in schema.logical or kind.unit not in _MULTIPLES:
        raise _unfit(kind, schema, path)
    times, divided = _SCALES[schema.logical.rpartition("-")[2]]
    times *= _MULTIPLES[kind.unit]
    return lambda value: number_bytes(value * times // divided)


def _decimal(schema: Primitive | Fixed) -> Writer:
    places = schema.scale

    def write(value: Decimal) -> bytes:
        whole = int(value.scaleb(places))
        if isinstance(schema, Fixed):
            return whole.to_bytes(schema.size, "big", signed=True)
        return _sized(whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True))

    return write


def _exactly(value: bytes, size: int, path: str) -> bytes:
    if len(value) != size:
        raise Corrupt(f"{path} has {len(value)} bytes where the schema wants {size}")
    return value


def _known(numbers: dict[str, bytes], value: str, path: str) -> bytes:
    if value not in numbers:
        raise Corrupt(f"{path} is {value[:40]!r}, which is no symbol of the schema")
    return numbers[value]


def _sized(data: bytes) -> bytes:
    return number_bytes(len(data)) + data


def _block(items: list[bytes]) -> bytes:
    return number_bytes(len(items)) + b"".join(items) + b"\x00" if items else b"\x00"


def _unfit(kind: Any, schema: Schema, path: str) -> SchemaError:
    logical = getattr(schema, "logical", "")
    return SchemaError(f"{path} is {kind}, which does not fit the schema's {logical or kind_of(schema)}")
