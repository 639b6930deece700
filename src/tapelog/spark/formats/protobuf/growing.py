"""Protobuf, as formats/trees wants it: one message's fields as columns, found by their numbers.

Writer and reader need not resolve anything: the numbers are the contract. The writer's schema is asked for only to see
that the value is the message that is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import pyarrow as pa

from tapelog.spark.formats.columns import Column, Corrupt, Lists, Structs, Views, view_of
from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.protobuf import nodes
from tapelog.spark.formats.protobuf.model import Field, File, Message, Types, index_path
from tapelog.spark.formats.protobuf.parser import parse_proto
from tapelog.spark.formats.protobuf.wellknown import WELL_KNOWN
from tapelog.spark.formats.run import Constants, Node
from tapelog.spark.formats.trees import TreeDecoder
from tapelog.spark.plan.formats import Reference
from tapelog.spark.registry.client import Registered, SchemaKey

_TIMES: Final[dict[str, Any]] = {
    "google.protobuf.Timestamp": pa.timestamp("us", tz="UTC"),
    "google.protobuf.Duration": pa.duration("us"),
}
_LONG: Final = pa.decimal128(20, 0)
_SCALARS: Final[dict[str, tuple[Any, Callable[[Any], nodes.Value]]]] = {
    "int32": (pa.int32(), lambda column: nodes.ReadInt32(column, False)),
    "sint32": (pa.int32(), lambda column: nodes.ReadInt32(column, True)),
    "int64": (pa.int64(), lambda column: nodes.ReadInt64(column, False)),
    "sint64": (pa.int64(), lambda column: nodes.ReadInt64(column, True)),
    "uint32": (pa.int64(), nodes.ReadUInt32),
    "uint64": (_LONG, nodes.ReadUInt64),
    "fixed32": (pa.int64(), nodes.ReadUFixed32),
    "fixed64": (_LONG, nodes.ReadUFixed64),
    "sfixed32": (pa.int32(), nodes.ReadFixed32),
    "sfixed64": (pa.int64(), nodes.ReadFixed64),
    "float": (pa.float32(), nodes.ReadFixed32),
    "double": (pa.float64(), nodes.ReadFixed64),
    "bool": (pa.bool_(), nodes.ReadBool),
    "string": (pa.string(), nodes.ReadBytes),
    "bytes": (pa.binary(), nodes.ReadBytes),
}


class Schema:
    """A .proto file with what it imports, and the message of it that is read."""

    def __init__(self, text: str, references: Sequence[Reference], message: str | None) -> None:
        self.file, self.types = load(text, references)
        if not self.file.messages:
            raise SchemaError("it has no message")
        self.message = self.types.messages.get(message or self.file.messages[0].name)
        if self.message is None and message and self.file.package:
            self.message = self.types.messages.get(f"{self.file.package}.{message}")
        if self.message is None:
            raise SchemaError(f"it has no message {message}; there is {', '.join(list(self.types.messages)[:5])}")

    def kind(self) -> Any:
        """The Arrow type of the message."""
        assert self.message is not None
        return self._struct(self.message, ())

    def _struct(self, message: Message, within: tuple[str, ...]) -> Any:
        inner = (*within, message.name)
        return pa.struct([pa.field(one.name, self._field(one, message, inner)) for one in message.fields])

    def _field(self, field: Field, message: Message, within: tuple[str, ...]) -> Any:
        single = self._single(field.type, message, within)
        if field.key:
            if field.key not in _SCALARS or field.key in ("float", "double", "bytes"):
                raise SchemaError(f"the map {field.name} cannot have keys of type {field.key}")
            return pa.map_(_SCALARS[field.key][0], pa.field("value", single))
        return pa.list_(pa.field("element", single)) if field.repeated else single

    def _single(self, name: str, message: Message, within: tuple[str, ...]) -> Any:
        if name in _SCALARS:
            return _SCALARS[name][0]
        full = self.types.full_name(name, message.name)
        if full in self.types.enums:
            return pa.string()
        if full in within:
            return pa.binary()  # lies within itself: Spark has no such type
        return _TIMES.get(full) or self._struct(self.types.messages[full], within)

    def tree(self, column: Structs, constants: Constants) -> nodes.ReadMessage:
        """What reads the message into its columns."""
        assert self.message is not None
        return self._tree(self.message, column, constants)

    def _tree(self, message: Message, column: Structs, constants: Constants) -> nodes.ReadMessage:
        made = nodes.ReadMessage(column)
        oneofs: dict[str, list[nodes.Slot]] = {}
        for field, into in zip(message.fields, column.fields, strict=True):
            slot = self._slot(field, message, into, constants)
            made.add(field.number, slot)
            if field.oneof:
                oneofs.setdefault(field.oneof, []).append(slot)
        for slots in oneofs.values():
            for slot in slots:
                slot.rivals.extend(one for one in slots if one is not slot)
        return made

    def _slot(self, field: Field, message: Message, column: Column, constants: Constants) -> nodes.Slot:
        if field.key:
            lists = cast(Lists, column)
            pair = cast(Structs, lists.items)
            entry = nodes.ReadMessage(pair)
            for number, name in ((1, field.key), (2, field.type)):
                value = self._value(name, message, pair.fields[number - 1], constants)
                whole = isinstance(value, nodes.ReadMessage | nodes.ReadTime)
                entry.add(number, nodes.Slot(field.name, value, whole, None, False))
            return nodes.Slot(field.name, entry, False, lists, False)
        if field.repeated:
            lists = cast(Lists, column)
            value = self._value(field.type, message, lists.items, constants)
            return nodes.Slot(field.name, value, False, lists, value.wire != nodes.LENGTH)
        value = self._value(field.type, message, column, constants)
        scalar = field.type in _SCALARS or isinstance(value, nodes.ReadEnum)
        return nodes.Slot(field.name, value, field.presence or not scalar, None, False)

    def _value(self, name: str, message: Message, column: Column, constants: Constants) -> nodes.Value:
        if name in _SCALARS:
            return _SCALARS[name][1](column)
        full = self.types.full_name(name, message.name)
        enum = self.types.enums.get(full)
        if enum is not None:
            views: dict[int, bytes] = {}
            for number, label in enum.values.items():
                data = label.encode()
                views[number] = view_of(data, len(constants.data))
                constants.data += data
            return nodes.ReadEnum(cast(Views, column), views, next(iter(views.values())))
        if isinstance(column, Structs):
            return self._tree(self.types.messages[full], column, constants)
        if full in _TIMES:
            return nodes.ReadTime(cast(Any, column))
        return nodes.ReadBytes(cast(Views, column))


def load(text: str, references: Sequence[Reference]) -> tuple[File, Types]:
    """The file, and all types that it can name; what it imports is found among the references or well known."""
    known = WELL_KNOWN | {one.name: one.text for one in references}
    file = parse_proto(text)
    files, waiting, seen = [file], list(file.imports), dict.fromkeys(file.imports)
    while waiting:
        name = waiting.pop(0)
        if name not in known:
            continue  # it matters only if a type of it is named
        other = parse_proto(known[name])
        files.append(other)
        more = [one for one in other.imports if one not in seen]
        waiting += more
        seen |= dict.fromkeys(more)
    return file, Types(files)


class ProtobufGrower:
    """Trees for one message."""

    def __init__(self, schema: Schema, column: Column) -> None:
        self._schema = schema
        self.constants = Constants()
        self._tree = schema.tree(cast(Structs, column), self.constants)

    def tree(self, writer: Registered | None, prefixed: bool) -> Node:
        """What reads values of this writer; Corrupt if its schema does not have the message."""
        if writer is None:
            return nodes.ReadRoot(self._tree, None)
        try:
            if writer.format != "protobuf":
                raise SchemaError(f"it is {writer.format}")
            assert self._schema.message is not None
            path = list(index_path(parse_proto(writer.text), self._schema.message.name))
        except SchemaError as error:
            raise Corrupt(f"the writer's schema {writer.id} cannot be read by ours: {error}") from None
        return nodes.ReadRoot(self._tree, path if prefixed else None)

    def reset(self) -> None:
        """Nothing is under way."""


def protobuf_decoder(
    text: str,
    references: Sequence[Reference],
    message: str | None,
    lookup: Callable[[SchemaKey], Registered | None] | None,
) -> TreeDecoder:
    """A decoder into a message of this file, its first one unless another is named; SchemaError."""
    schema = Schema(text, references, message)
    return TreeDecoder(schema.kind(), lambda column: ProtobufGrower(schema, column), lookup)
