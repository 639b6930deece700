"""From the writer's schema and the reader's to a tree of nodes: Avro's rules of schema resolution.

Made once per writer's schema. Numbers are promoted, strings and bytes stand for each other, fields are found by name or
alias, what only the writer has is passed over, and what only the reader has takes its default. Beyond the rules, a
timestamp or date keeps its moment where writer and reader count in different units.
"""

from __future__ import annotations

from typing import Any, Final, cast

from tapelog.spark.formats.avro import nodes
from tapelog.spark.formats.avro.defaults import default_bytes
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
from tapelog.spark.formats.avro.skips import SkipBytes, SkipFixed, SkipItems, SkipNumber, SkipRecord
from tapelog.spark.formats.avro.types import members
from tapelog.spark.formats.columns import CONSTANTS, Column, Decimals, Lists, Structs, view_of
from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.run import Constants, Node

_PROMOTED: Final = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "string": ("string", "bytes"),
    "bytes": ("bytes", "string"),
}
_NUMBERS: Final[dict[tuple[str, str], Any]] = {
    ("int", "int"): nodes.ReadInt,
    ("int", "long"): nodes.ReadLong,
    ("long", "long"): nodes.ReadLong,
    ("int", "float"): nodes.ReadIntAsFloat,
    ("long", "float"): nodes.ReadIntAsFloat,
    ("int", "double"): nodes.ReadIntAsDouble,
    ("long", "double"): nodes.ReadIntAsDouble,
    ("float", "float"): nodes.ReadFloat,
    ("float", "double"): nodes.ReadFloatAsDouble,
    ("double", "double"): nodes.ReadDouble,
    ("boolean", "boolean"): nodes.ReadBool,
    ("null", "null"): nodes.ReadNull,
}
_UNITS: Final = {"millis": nodes.ReadMillis, "micros": nodes.ReadLong, "nanos": nodes.ReadNanos}


class Resolver:
    """Makes trees for one reader's schema and its columns."""

    def __init__(self, reader: Schema, column: Column) -> None:
        self._reader = reader
        self._column = column
        self._part = 0
        self.constants = Constants()
        """What defaults and symbols lie in; it only grows."""
        self._skips: dict[int, SkipRecord] = {}
        self.resets: list[SkipRecord] = []
        """Nodes that count how deep they are, to be set back after an error."""

    def tree(self, writer: Schema) -> Node:
        """What reads the writer's values into the reader's columns; SchemaError if they have nothing in common."""
        return self._resolved(writer, self._reader, self._column, "")

    def _resolved(self, writer: Schema, reader: Schema, column: Column, path: str) -> Node:
        if isinstance(writer, Union):
            return nodes.ReadUnion([self._or_refuse(branch, reader, column, path) for branch in writer.branches])
        if isinstance(reader, Union):
            return self._into_union(writer, reader, column, path)
        if not _alike(writer, reader):
            raise SchemaError(f"{_said(path)} is {_shown(writer)} in the writer's schema, {_shown(reader)} in ours")
        match writer, reader:
            case Record(), Record():
                return self._record(writer, reader, cast(Structs, column), path)
            case Array(), Array():
                into = cast(Lists, column)
                return nodes.ReadItems(into, self._resolved(writer.items, reader.items, into.items, f"{path}[]"))
            case Map(), Map():
                return self._map(writer, reader, cast(Lists, column), path)
            case Enum(), Enum():
                return nodes.ReadEnum(cast(Any, column), [self._symbol(one, reader) for one in writer.symbols])
        return self._simple(cast(Any, writer), cast(Any, reader), column, path)

    def _or_refuse(self, branch: Schema, reader: Schema, column: Column, path: str) -> Node:
        """A branch that does not fit matters only when a record has it."""
        try:
            return self._resolved(branch, reader, column, path)
        except SchemaError as error:
            return nodes.Refuse(str(error))

    def _into_union(self, writer: Schema, reader: Union, column: Column, path: str) -> Node:
        if writer == Primitive("null") and writer in reader.branches:
            return nodes.ReadNull(column)
        fitting = [one for one in reader.branches if kind_of(one) == kind_of(writer) and _alike(writer, one)]
        fitting += [one for one in reader.branches if _alike(writer, one)]
        wanted = members(reader)
        for branch in fitting:
            if len(wanted) == 1:
                return self._resolved(writer, wanted[0], column, path)
            number = wanted.index(branch)
            into = cast(Structs, column)
            return nodes.ReadMember(into, number, self._resolved(writer, branch, into.fields[number], path))
        raise SchemaError(f"{_said(path)} is {_shown(writer)} in the writer's schema, which our union does not have")

    def _record(self, writer: Record, reader: Record, column: Structs, path: str) -> Node:
        found: list[Node] = []
        numbers = {one.name: number for number, one in enumerate(reader.fields)}
        for number, one in enumerate(reader.fields):
            for alias in one.aliases:
                numbers.setdefault(alias, number)
        taken: dict[int, None] = {}
        for theirs in writer.fields:
            place = numbers.get(theirs.name)
            if place is None or place in taken:
                found.append(self.skip(theirs.type))
                continue
            taken[place] = None
            inner = f"{path}.{theirs.name}" if path else theirs.name
            found.append(self._resolved(theirs.type, reader.fields[place].type, column.fields[place], inner))
        for number, ours in enumerate(reader.fields):
            if number not in taken:
                found.append(self._default(ours, column.fields[number], path))
        return nodes.ReadRecord(column, found)

    def _default(self, field: Field, column: Column, path: str) -> Node:
        if not field.has_default:
            raise SchemaError(f"the writer's schema has no field {field.name} in {_said(path)}, and ours no default")
        before = self._part
        self._part = CONSTANTS
        try:
            node = self._resolved(field.type, field.type, column, field.name)
        finally:
            self._part = before
        data = default_bytes(field.type, field.default)
        at = len(self.constants.data)
        self.constants.data += data
        return nodes.ReadDefault(node, self.constants, at, at + len(data))

    def _map(self, writer: Map, reader: Map, column: Lists, path: str) -> Node:
        pair = cast(Structs, column.items)
        key = nodes.ReadBytes(cast(Any, pair.fields[0]), self._part)
        value = self._resolved(writer.values, reader.values, pair.fields[1], f"{path}{{}}")
        return nodes.ReadItems(column, nodes.ReadPair(pair, key, value))

    def _symbol(self, symbol: str, reader: Enum) -> bytes:
        if symbol not in reader.symbols:
            if reader.default is None:
                return b""
            symbol = reader.default
        data, at = symbol.encode(), len(self.constants.data)
        view = view_of(data, at)
        self.constants.data += data
        return view

    def _simple(self, writer: Primitive | Fixed, reader: Primitive | Fixed, column: Column, path: str) -> Node:
        size = writer.size if isinstance(writer, Fixed) else -1
        if isinstance(column, Decimals):
            if writer.logical == "decimal" and writer.scale != reader.scale:
                raise SchemaError(f"{_said(path)} has {writer.scale} decimal places, {reader.scale} in our schema")
            return nodes.ReadDecimal(column, size)
        if isinstance(writer, Fixed):
            return nodes.ReadFixed(cast(Any, column), size, self._part)
        assert isinstance(reader, Primitive)
        if writer.type in ("bytes", "string"):
            return nodes.ReadBytes(cast(Any, column), self._part)
        if "timestamp-" in reader.logical:
            unit = writer if "timestamp-" in writer.logical else reader
            made: Node = _UNITS[unit.logical.rpartition("-")[2]](cast(Any, column))
            return made
        node: Node = _NUMBERS[writer.type, reader.type](cast(Any, column))
        return node

    def skip(self, schema: Schema) -> Node:
        """What passes over a value of this schema."""
        match schema:
            case Primitive():
                fixed = {"null": 0, "boolean": 1, "float": 4, "double": 8}.get(schema.type)
                if fixed is not None:
                    return SkipFixed(fixed)
                return SkipNumber() if schema.type in ("int", "long") else SkipBytes()
            case Fixed():
                return SkipFixed(schema.size)
            case Enum():
                return SkipNumber()
            case Array():
                return SkipItems([self.skip(schema.items)])
            case Map():
                return SkipItems([SkipBytes(), self.skip(schema.values)])
            case Union():
                return nodes.ReadUnion([self.skip(one) for one in schema.branches])
            case Record():
                made = self._skips.get(id(schema))
                if made is None:
                    made = self._skips[id(schema)] = SkipRecord()
                    self.resets.append(made)
                    made.fields.extend(self.skip(one.type) for one in schema.fields)
                return made


def _alike(writer: Schema, reader: Schema) -> bool:
    """Whether the reader may read what the writer wrote, as far as it shows at the top."""
    match writer, reader:
        case Primitive(), Primitive():
            return reader.type in _PROMOTED.get(writer.type, (writer.type,))
        case Fixed(), Fixed():
            return writer.size == reader.size and _same_name(writer, reader)
        case Enum(), Enum():
            return _same_name(writer, reader)
        case _:
            return type(writer) is type(reader)


def _same_name(writer: Fixed | Enum, reader: Fixed | Enum) -> bool:
    short = [name.rpartition(".")[2] for name in (writer.name, reader.name, *reader.aliases)]
    return short[0] in short[1:]


def _said(path: str) -> str:
    return f"the field {path.lstrip('.')}" if path else "the value"


def _shown(schema: Schema) -> str:
    return type(schema).__name__.lower() if isinstance(schema, Array | Map | Union) else kind_of(schema)
