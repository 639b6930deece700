"""Avro schemas: JSON in, frozen values out; names resolved, references to other schemas included.

Names that are not there, types that do not exist and defaults that do not fit are SchemaErrors that say where.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tapelog.spark.formats.errors import SchemaError

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
SCHEMA_CHARS_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 64
"""Types within types, as they are written down."""
PRECISION_MAX: Final = 38
"""Of a decimal, in Arrow and in Spark."""

Schema: TypeAlias = "Primitive | Fixed | Enum | Record | Array | Map | Union"


@dataclass(frozen=True)
class Primitive:
    """A type without parts; `logical` is empty unless it is one that we know and that fits."""

    type: str
    logical: str = ""
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True)
class Fixed:
    """So many bytes."""

    name: str
    size: int
    logical: str = ""
    precision: int = 0
    scale: int = 0
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Enum:
    """One of some symbols."""

    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field:
    """A field of a record."""

    name: str
    type: Schema
    has_default: bool = False
    default: Any = None
    aliases: tuple[str, ...] = ()


@dataclass(eq=False)
class Record:
    """Fields; they are filled in after the record has its name, since they may hold it."""

    name: str
    aliases: tuple[str, ...] = ()
    fields: list[Field] = field(default_factory=list)


@dataclass(frozen=True)
class Array:
    """Items of one type."""

    items: Schema


@dataclass(frozen=True)
class Map:
    """Values of one type, by text."""

    values: Schema


@dataclass(frozen=True)
class Union:
    """One of several types."""

    branches: tuple[Schema, ...]


def parse_avro(text: str, references: Sequence[str] = (), message: str | None = None) -> Schema:
    """The schema that this text is; `references` are those that it names, each after those that it needs itself.

    With `message`, the named type of that full name: out of a union of several, or of a reference.
    """
    names: dict[str, Schema] = {}
    for one in (*references, text):
        if len(one) > SCHEMA_CHARS_MAX:
            raise SchemaError("it is too long")
        try:
            found = _Parser(names).parse(json.loads(one), "", 0)
        except (json.JSONDecodeError, RecursionError):
            # a bare name of a primitive is a schema, too
            if one.strip() not in PRIMITIVES:
                raise SchemaError("it is not JSON") from None
            found = Primitive(one.strip())
    if message is None:
        return found
    if message not in names:
        raise SchemaError(f"it has no type {message}; there are {', '.join(sorted(names)[:5]) or 'no named ones'}")
    return names[message]


class _Parser:
    def __init__(self, names: dict[str, Schema]) -> None:
        self._names = names

    def parse(self, given: Any, space: str, depth: int) -> Schema:
        if depth > DEPTH_MAX:
            raise SchemaError("types lie too deep within each other")
        if isinstance(given, str):
            return self._named(given, space)
        if isinstance(given, list):
            return self._union(tuple(self.parse(one, space, depth + 1) for one in given))
        if not isinstance(given, dict) or "type" not in given:
            raise SchemaError(f"{json.dumps(given)[:60]} is no type")
        kind = given["type"]
        if isinstance(kind, dict | list):
            return self.parse(kind, space, depth + 1)
        match kind:
            case "record" | "error":
                return self._record(given, space, depth)
            case "enum":
                return self._enum(given, space)
            case "fixed":
                return self._fixed(given, space)
            case "array":
                return Array(self.parse(_part(given, "items"), space, depth + 1))
            case "map":
                return Map(self.parse(_part(given, "values"), space, depth + 1))
        if kind in PRIMITIVES:
            return Primitive(kind, *_logical(given, kind, None))
        return self._named(str(kind), space)

    def _named(self, name: str, space: str) -> Schema:
        if name in PRIMITIVES:
            return Primitive(name)
        full = name if "." in name or not space else f"{space}.{name}"
        found = self._names.get(full) or self._names.get(name)
        if found is None:
            raise SchemaError(f"it names a type that it does not have: {name[:80]}")
        return found

    def _union(self, branches: tuple[Schema, ...]) -> Schema:
        if any(isinstance(branch, Union) for branch in branches):
            raise SchemaError("a union lies within a union")
        if len(dict.fromkeys(kind_of(branch) for branch in branches)) != len(branches):
            raise SchemaError("a union has two branches of one kind")
        return Union(branches)

    def _name(self, given: dict[str, Any], space: str) -> tuple[str, str, tuple[str, ...]]:
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise SchemaError(f"a type has no name: {json.dumps(given)[:60]}")
        inner = given.get("namespace")
        if "." in name:
            inner = name.rpartition(".")[0]
        elif inner is None:
            inner = space
        full = name if "." in name or not inner else f"{inner}.{name}"
        aliases = tuple(
            str(one) if "." in str(one) or not inner else f"{inner}.{one}" for one in given.get("aliases") or ()
        )
        return full, str(inner or ""), aliases

    def _add(self, name: str, made: Schema) -> Schema:
        if name in self._names:
            known = self._names[name]
            if isinstance(made, Record) or known != made:
                raise SchemaError(f"the type {name} is there twice")
        self._names[name] = made
        return made

    def _record(self, given: dict[str, Any], space: str, depth: int) -> Schema:
        name, inner, aliases = self._name(given, space)
        made = Record(name, aliases)
        self._add(name, made)
        fields = given.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the record {name} has no fields")
        taken: dict[str, None] = {}
        for one in fields:
            if not isinstance(one, dict) or not isinstance(one.get("name"), str) or "type" not in one:
                raise SchemaError(f"a field of {name} has no name or no type")
            if one["name"] in taken:
                raise SchemaError(f"the record {name} has the field {one['name']} twice")
            taken[one["name"]] = None
            kind = self.parse(one["type"], inner, depth + 1)
            others = tuple(str(alias) for alias in one.get("aliases") or ())
            made.fields.append(Field(one["name"], kind, "default" in one, one.get("default"), others))
        return made

    def _enum(self, given: dict[str, Any], space: str) -> Schema:
        name, _, aliases = self._name(given, space)
        symbols = given.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(one, str) for one in symbols):
            raise SchemaError(f"the enum {name} has no symbols")
        default = given.get("default")
        if default is not None and default not in symbols:
            raise SchemaError(f"the default of the enum {name} is none of its symbols")
        return self._add(name, Enum(name, tuple(symbols), default, aliases))

    def _fixed(self, given: dict[str, Any], space: str) -> Schema:
        name, _, aliases = self._name(given, space)
        size = given.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise SchemaError(f"the fixed {name} has no size")
        logical, precision, scale = _logical(given, "fixed", size)
        return self._add(name, Fixed(name, size, logical, precision, scale, aliases))


_LOGICAL: Final = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "uuid": ("string", "fixed"),
    "decimal": ("bytes", "fixed"),
}


def _logical(given: dict[str, Any], kind: str, size: int | None) -> tuple[str, int, int]:
    """The logical type with precision and scale; one that does not fit is passed over, as the specification says."""
    logical = given.get("logicalType")
    if not isinstance(logical, str) or kind not in _LOGICAL.get(logical, ()):
        return "", 0, 0
    if logical == "uuid" and size not in (None, 16):
        return "", 0, 0
    if logical != "decimal":
        return logical, 0, 0
    precision, scale = given.get("precision"), given.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return "", 0, 0
    if not 0 < precision <= PRECISION_MAX or not 0 <= scale <= precision:
        return "", 0, 0
    if size is not None and precision > _digits(size):
        return "", 0, 0
    return logical, precision, scale


def _digits(size: int) -> int:
    """How many decimal digits so many bytes hold."""
    return int((8 * size - 1) * math.log10(2)) if size else 0


def _part(given: dict[str, Any], name: str) -> Any:
    if name not in given:
        raise SchemaError(f"an {given['type']} has no {name}")
    return given[name]


def kind_of(schema: Schema) -> str:
    """What a union tells branches apart by: the type, or the name."""
    match schema:
        case Primitive():
            return schema.type
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"
        case _:
            return schema.name
