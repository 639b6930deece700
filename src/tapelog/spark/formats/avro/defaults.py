"""Defaults of fields, which schemas write as JSON, as the bytes that a writer would have written for them."""

from __future__ import annotations

import struct
from typing import Any

from tapelog.spark.formats.avro.schema import Array, Enum, Fixed, Map, Primitive, Record, Schema, Union
from tapelog.spark.formats.errors import SchemaError


def number_bytes(value: int) -> bytes:
    """A whole number of up to 64 bits, zigzag and of variable length."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append((left & 0x7F) | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def default_bytes(schema: Schema, value: Any) -> bytes:
    """The default `value` of a field with this schema; SchemaError if it does not fit."""
    try:
        return _encoded(schema, value)
    except (TypeError, ValueError, KeyError, AttributeError, struct.error, OverflowError, UnicodeError):
        raise SchemaError(f"the default {str(value)[:40]!r} does not fit its field") from None


def _encoded(schema: Schema, value: Any) -> bytes:
    match schema:
        case Primitive():
            return _primitive(schema.type, value)
        case Fixed():
            data: bytes = value.encode("latin-1")
            if len(data) != schema.size:
                raise ValueError
            return data
        case Enum():
            return number_bytes(schema.symbols.index(value))
        case Array():
            _must(isinstance(value, list))
            return _block([_encoded(schema.items, item) for item in value])
        case Map():
            return _block([_sized(name.encode()) + _encoded(schema.values, item) for name, item in value.items()])
        case Record():
            _must(isinstance(value, dict))
            return b"".join(_field(one.name, one.type, one.has_default, one.default, value) for one in schema.fields)
        case Union():
            return _first_that_fits(schema, value)


def _field(name: str, schema: Schema, has_default: bool, default: Any, record: dict[str, Any]) -> bytes:
    if name not in record and not has_default:
        raise KeyError(name)
    return _encoded(schema, record.get(name, default))


def _first_that_fits(schema: Union, value: Any) -> bytes:
    """A union's default is that of its first branch; newer writers allow any."""
    for number, branch in enumerate(schema.branches):
        try:
            return number_bytes(number) + _encoded(branch, value)
        except (TypeError, ValueError, KeyError, AttributeError, struct.error, OverflowError, UnicodeError):
            continue
    raise ValueError


def _primitive(kind: str, value: Any) -> bytes:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match kind:
        case "null":
            _must(value is None)
            return b""
        case "boolean":
            _must(isinstance(value, bool))
            return b"\x01" if value else b"\x00"
        case "int" | "long":
            bits = 31 if kind == "int" else 63
            _must(whole and -(1 << bits) <= value < 1 << bits)
            return number_bytes(value)
        case "float" | "double":
            _must(whole or isinstance(value, float))
            return struct.pack("<f" if kind == "float" else "<d", value)
        case "bytes":
            return _sized(value.encode("latin-1"))
        case _:
            return _sized(value.encode())


def _must(fits: bool) -> None:
    if not fits:
        raise ValueError


def _sized(data: bytes) -> bytes:
    return number_bytes(len(data)) + data


def _block(items: list[bytes]) -> bytes:
    return (number_bytes(len(items)) + b"".join(items) if items else b"") + b"\x00"
