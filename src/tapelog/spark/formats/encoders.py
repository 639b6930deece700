"""By which schema a column is written, and what writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tapelog.spark.formats.choosing import chosen_for, given_schema, subject_of
from tapelog.spark.formats.columns import Corrupt
from tapelog.spark.formats.errors import FormatError, SchemaError
from tapelog.spark.formats.plain import plain_values
from tapelog.spark.plan.formats import Chosen, Part, WriteFormats
from tapelog.spark.registry.client import Registered, client_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """A schema to write by, and what goes in front of each value."""

    chosen: Chosen
    prefix: bytes = b""


def prepared_part(part: Part, formats: WriteFormats, kind: Any, topic: str | None) -> Prepared:
    """The schema of one column: the subject's latest, or the given one, registered where that is asked for."""
    registry = formats.registry
    if part.format == "string" or (part.format == "json" and registry is None):
        return Prepared(Chosen(part))
    topics = None if topic is None else [topic]
    if registry is None:
        text, references = given_schema(part)
        return Prepared(Chosen(part, text, references, part.message))
    client = client_of(registry)
    if formats.use_latest:
        part = replace(part, schema=None, schema_file=None)
    if not part.given and not formats.auto_register:
        chosen = chosen_for(part, registry, topics)
        found = client.by_key(part.schema_id) if part.schema_id is not None else None
        number = found.id if found else client.by_subject(subject_of(part, topics), part.version).id
        return Prepared(chosen, prefix_of(number, chosen))
    text, references = given_schema(part) if part.given else (_derived(part, kind), ())
    if references:
        raise FormatError(
            f"{part.column}SchemaFile imports other files: register it and them, and leave {part.column}SchemaFile out."
        )
    subject = subject_of(_named(part, text), topics)
    schema = Registered(0, part.format, text)
    number = client.register(subject, schema) if formats.auto_register else (client.lookup(subject, schema) or 0)
    if not number:
        raise FormatError(
            f"The registry does not have this schema of the {part.column} under the subject {subject}.",
            "Register it, or set schemaRegistry.auto.register.schemas=true, or leave the schema out to use the latest.",
        )
    chosen = Chosen(part, text, references, part.message, prefixed=True)
    return Prepared(chosen, prefix_of(number, chosen))


def _named(part: Part, text: str) -> Part:
    """With the name of the record, where the subject needs it and nobody said it."""
    if part.strategy == "topic" or part.subject is not None or part.message is not None:
        return part
    if part.format == "avro":
        given = json.loads(text)
        space = given.get("namespace", "")
        return replace(part, message=given["name"] if "." in given["name"] or not space else f"{space}.{given['name']}")
    return part


def _derived(part: Part, kind: Any) -> str:
    if part.format != "avro":
        raise FormatError(
            f"{part.column}Format={part.format} needs a schema to write by.",
            f"Give {part.column}Schema or {part.column}SchemaFile, or leave auto.register.schemas out for the latest.",
        )
    from tapelog.spark.formats.avro.deriving import derived

    try:
        return json.dumps(derived(kind, part.message or part.column.title()))
    except SchemaError as error:
        raise FormatError(f"No schema can be made of the column {part.column}: {error}.") from None


def prefix_of(number: int, chosen: Chosen) -> bytes:
    """A zero byte and the id; for Protobuf also which message of the file it is."""
    prefix = b"\0" + number.to_bytes(4, "big")
    if chosen.part.format != "protobuf":
        return prefix
    from tapelog.spark.formats.avro.defaults import number_bytes
    from tapelog.spark.formats.protobuf.growing import Schema
    from tapelog.spark.formats.protobuf.model import index_path

    schema = _usable(chosen, lambda: Schema(chosen.text, chosen.references, chosen.message))
    path = index_path(schema.file, schema.message.name)
    if path == (0,):
        return prefix + b"\0"
    return prefix + number_bytes(len(path)) + b"".join(number_bytes(one) for one in path)


def writer_of(prepared: Prepared, kind: Any) -> Callable[[Any], Any]:
    """What turns an array of this type into one of bytes; FormatError if the schema does not fit it, Corrupt a row."""
    chosen, prefix = prepared.chosen, prepared.prefix
    part = chosen.part
    if part.format == "string":
        if not pa.types.is_string(kind) and not pa.types.is_binary(kind):
            raise FormatError(f"The column {part.column} is {kind}, not a string.", f"Set {part.column}Format=json.")
        return lambda array: array.cast(pa.binary())
    write = _usable(chosen, lambda: _row_writer(chosen, kind))
    values = _python_values if part.format == "json" else plain_values
    return lambda array: pa.array([None if one is None else prefix + write(one) for one in values(array)], pa.binary())


def _python_values(array: Any) -> list[Any]:
    """The values with Python's own dates and times, which end with the year 9999 where Spark's do not; Corrupt."""
    try:
        return array.to_pylist()  # type: ignore[no-any-return]
    except OverflowError:
        raise Corrupt("a time lies outside the years 1 to 9999") from None


def _row_writer(chosen: Chosen, kind: Any) -> Callable[[Any], bytes]:
    match chosen.part.format:
        case "avro":
            from tapelog.spark.formats.avro.schema import parse_avro
            from tapelog.spark.formats.avro.writing import avro_writer

            return avro_writer(kind, parse_avro(chosen.text, [one.text for one in chosen.references], chosen.message))
        case "protobuf":
            from tapelog.spark.formats.protobuf.growing import Schema
            from tapelog.spark.formats.protobuf.writing import protobuf_writer

            return protobuf_writer(kind, Schema(chosen.text, chosen.references, chosen.message))
    from tapelog.spark.formats.json.writing import json_writer

    return json_writer(kind)


def _usable(chosen: Chosen, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SchemaError as error:
        part = chosen.part
        raise FormatError(
            f"The column {part.column} cannot be written by its schema: {error}.",
            f"Change the column, or {part.column}Schema, or the subject in the registry.",
        ) from None
