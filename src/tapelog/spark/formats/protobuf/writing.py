"""Rows into Protobuf bytes: a function per field, found by name, made once; what does not fit is told then."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tapelog.spark.formats.columns import Corrupt
from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.protobuf.growing import Schema
from tapelog.spark.formats.protobuf.model import Enum, Field, Message
from tapelog.spark.formats.protobuf.nodes import BITS32, BITS64, LENGTH, VARINT

Writer: TypeAlias = Callable[[Any], bytes]

_U64: Final = (1 << 64) - 1
_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_PACKED: Final[dict[str, tuple[int, str, str]]] = {
    "fixed32": (BITS32, "<I", "integer"),
    "sfixed32": (BITS32, "<i", "integer"),
    "fixed64": (BITS64, "<Q", "integer"),
    "sfixed64": (BITS64, "<q", "integer"),
    "float": (BITS32, "<f", "number"),
    "double": (BITS64, "<d", "number"),
}
_RANGES: Final = {
    "int32": (-(1 << 31), 1 << 31),
    "sint32": (-(1 << 31), 1 << 31),
    "uint32": (0, 1 << 32),
    "int64": (-(1 << 63), 1 << 63),
    "sint64": (-(1 << 63), 1 << 63),
    "uint64": (0, 1 << 64),
}


def unsigned(value: int) -> bytes:
    """A number of up to 64 bits; a negative one takes ten bytes."""
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def protobuf_writer(kind: Any, schema: Schema) -> Writer:
    """What writes structs of an Arrow type as the schema's message; SchemaError if they do not fit."""
    assert schema.message is not None
    return _message(kind, schema.message, schema, "the value")


def _message(kind: Any, message: Message, schema: Schema, path: str) -> Writer:
    if not pa.types.is_struct(kind):
        raise SchemaError(f"{path} is {kind}, and {message.name} is a message")
    fields = {one.name: one for one in message.fields}
    parts: list[tuple[str, Writer]] = []
    for one in kind:
        if one.name not in fields:
            raise SchemaError(f"{path} has a field {one.name} that {message.name} does not have")
        inner = f"{path}.{one.name}".removeprefix("the value.")
        parts.append((one.name, _field(one.type, fields[one.name], message, schema, inner)))

    def write(value: Any) -> bytes:
        return b"".join([writer(value[name]) for name, writer in parts if value[name] is not None])

    return write


def _field(kind: Any, field: Field, message: Message, schema: Schema, path: str) -> Writer:
    if field.key:
        return _map(kind, field, message, schema, path)
    if field.repeated:
        if not pa.types.is_list(kind):
            raise SchemaError(f"{path} is {kind}, and the field is repeated")
        wire, single = _single(kind.value_type, field.type, message, schema, path)
        tag = unsigned(field.number << 3 | (LENGTH if wire != LENGTH else wire))
        if wire == LENGTH:
            return lambda value: b"".join([tag + single(_item(one, path)) for one in value])
        return lambda value: tag + _sized(b"".join([single(_item(one, path)) for one in value])) if value else b""
    wire, single = _single(kind, field.type, message, schema, path)
    tag = unsigned(field.number << 3 | wire)
    if field.presence or (wire == LENGTH and field.type not in ("string", "bytes")):
        return lambda value: tag + single(value)
    return lambda value: tag + single(value) if value else b""


def _map(kind: Any, field: Field, message: Message, schema: Schema, path: str) -> Writer:
    if not pa.types.is_map(kind):
        raise SchemaError(f"{path} is {kind}, and the field is a map")
    key_wire, key = _single(kind.key_type, field.key, message, schema, path)
    wire, single = _single(kind.item_type, field.type, message, schema, path)
    tag, first, second = unsigned(field.number << 3 | LENGTH), unsigned(1 << 3 | key_wire), unsigned(2 << 3 | wire)
    return lambda value: b"".join(
        [tag + _sized(first + key(name) + second + single(_item(one, path))) for name, one in value]
    )


def _single(kind: Any, name: str, message: Message, schema: Schema, path: str) -> tuple[int, Writer]:
    types = pa.types
    whole = types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0)
    if name in _RANGES and whole:
        low, high = _RANGES[name]
        zigzag = name.startswith("s")

        def number(value: Any) -> bytes:
            value = int(value)
            if not low <= value < high:
                raise Corrupt(f"{path} does not fit into {name}")
            return unsigned((value << 1) ^ (value >> 63) if zigzag else value)

        return VARINT, number
    if name in _PACKED and (whole or (_PACKED[name][2] == "number" and types.is_floating(kind))):
        wire, layout, sort = _PACKED[name]
        return wire, lambda value: _fixed(layout, value if sort == "number" else int(value), name, path)
    if name == "bool" and types.is_boolean(kind):
        return VARINT, lambda value: b"\x01" if value else b"\x00"
    if (name == "string" and types.is_string(kind)) or (name == "bytes" and types.is_binary(kind)):
        return LENGTH, lambda value: _sized(value if isinstance(value, bytes) else value.encode())
    return _named(kind, name, message, schema, path)


def _named(kind: Any, name: str, message: Message, schema: Schema, path: str) -> tuple[int, Writer]:
    types = pa.types
    full = (
        schema.types.full_name(name, message.name)
        if name not in (*_RANGES, *_PACKED, "bool", "string", "bytes")
        else ""
    )
    enum = schema.types.enums.get(full)
    if enum is not None and types.is_string(kind):
        return VARINT, _enum(enum, path)
    if full in _TIMES and (types.is_timestamp(kind) or types.is_duration(kind)) and kind.unit == "us":
        return LENGTH, _time
    if full in schema.types.messages and types.is_binary(kind):
        return LENGTH, _sized
    if full in schema.types.messages and types.is_struct(kind):
        inner = _message(kind, schema.types.messages[full], schema, path)
        return LENGTH, lambda value: _sized(inner(value))
    raise SchemaError(f"{path} is {kind}, which does not fit {name}")


def _enum(enum: Enum, path: str) -> Writer:
    numbers = {name: unsigned(number) for number, name in enum.values.items()}

    def write(value: str) -> bytes:
        found = numbers.get(value)
        if found is None:
            raise Corrupt(f"{path} is {value[:40]!r}, which is no value of {enum.name}")
        return found

    return write


def _time(micros: int) -> bytes:
    seconds, rest = divmod(micros, 1_000_000)
    return _sized(
        (b"\x08" + unsigned(seconds) if seconds else b"") + (b"\x10" + unsigned(rest * 1000) if rest else b"")
    )


def _fixed(layout: str, value: Any, name: str, path: str) -> bytes:
    try:
        return struct.pack(layout, value)
    except (struct.error, OverflowError):
        raise Corrupt(f"{path} does not fit into {name}") from None


def _item(value: Any, path: str) -> Any:
    if value is None:
        raise Corrupt(f"{path} holds null, which a list or map of Protobuf cannot")
    return value


def _sized(data: bytes) -> bytes:
    return unsigned(len(data)) + data
