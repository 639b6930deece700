"""Google's own Protobuf for a .proto text, by way of our parser: classes that write what we read."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2  # noqa: F401  (they are in the default pool once imported)

from tapelog.spark.formats.protobuf.model import Enum, Field, Message, Types
from tapelog.spark.formats.protobuf.parser import parse_proto

F = descriptor_pb2.FieldDescriptorProto
NUMBERS = ("int32", "sint32", "int64", "sint64", "uint32", "uint64", "fixed32", "fixed64", "sfixed32", "sfixed64")
SCALARS = {
    name: getattr(F, f"TYPE_{name.upper()}") for name in (*NUMBERS, "float", "double", "bool", "string", "bytes")
}


def classes(text: str, name: str = "file.proto") -> dict[str, Any]:
    """The message classes of a file that imports nothing but what is well known, by full name."""
    file = parse_proto(text)
    types = Types([file, *(parse_proto(_known(one)) for one in file.imports)])
    syntax = "proto3" if "proto3" in text else "proto2"
    made = descriptor_pb2.FileDescriptorProto(name=name, package=file.package, syntax=syntax, dependency=file.imports)
    for message in file.messages:
        _message(made.message_type.add(), message, types, syntax)
    for enum in file.enums:
        _enum(made.enum_type.add(), enum)
    pool = descriptor_pool.DescriptorPool()
    for one in file.imports:
        known = descriptor_pb2.FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(one).CopyToProto(known)
        pool.Add(known)
    pool.Add(made)
    names = [message for message in types.messages if not message.startswith("google.")]
    return {one: message_factory.GetMessageClass(pool.FindMessageTypeByName(one)) for one in names}


def _known(name: str) -> str:
    from tapelog.spark.formats.protobuf.wellknown import WELL_KNOWN

    return WELL_KNOWN[name]


def _message(into: Any, message: Message, types: Types, syntax: str) -> None:
    into.name = message.name.rpartition(".")[2]
    for inner in message.messages:
        _message(into.nested_type.add(), inner, types, syntax)
    for enum in message.enums:
        _enum(into.enum_type.add(), enum)
    oneofs = list(dict.fromkeys(one.oneof for one in message.fields if one.oneof))
    for name in oneofs:
        into.oneof_decl.add(name=name)
    for field in message.fields:
        made = into.field.add(name=field.name, number=field.number)
        made.label = F.LABEL_REPEATED if field.repeated else F.LABEL_OPTIONAL
        if field.key:
            _map(into, made, field, message, types)
        else:
            _type(made, field.type, message, types)
        if field.oneof:
            made.oneof_index = oneofs.index(field.oneof)
        elif syntax == "proto3" and field.presence and not field.repeated:
            made.proto3_optional = True
            made.oneof_index = len(into.oneof_decl)
            into.oneof_decl.add(name=f"_{field.name}")


def _type(made: Any, name: str, message: Message, types: Types) -> None:
    if name in SCALARS:
        made.type = SCALARS[name]
        return
    full = types.full_name(name, message.name)
    made.type = F.TYPE_ENUM if full in types.enums else F.TYPE_MESSAGE
    made.type_name = f".{full}"


def _map(into: Any, made: Any, field: Field, message: Message, types: Types) -> None:
    entry = into.nested_type.add(name="".join(part.title() for part in field.name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, name, kind in ((1, "key", field.key), (2, "value", field.type)):
        part = entry.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
        _type(part, kind, message, types)
    made.type, made.type_name = F.TYPE_MESSAGE, f".{message.name}.{entry.name}"


def _enum(into: Any, enum: Enum) -> None:
    into.name = enum.name.rpartition(".")[2]
    for number, name in enum.values.items():
        into.value.add(name=name, number=number)
