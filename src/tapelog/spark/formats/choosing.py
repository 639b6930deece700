"""Which schema a column has: asked once, on the driver, before anything is read.

The latest of the subject, or the version or id that was named, or what the options or a file hold. It decides the type
of the column; records by other schemas are resolved to it.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import Final

from tapelog.spark.formats.errors import FormatError
from tapelog.spark.plan.errors import listed
from tapelog.spark.plan.formats import Chosen, Part, ReadFormats, Reference, Registry
from tapelog.spark.registry.client import Registered, client_of
from tapelog.spark.registry.http import NotThereError

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of a file with a schema."""


def choose(formats: ReadFormats, topics: Sequence[str] | None) -> tuple[Chosen, ...]:
    """The schemas of these columns; `topics` as far as they are known by name. FormatError, RegistryError."""
    return tuple(chosen_for(part, formats.registry, topics) for part in formats.parts)


def chosen_for(part: Part, registry: Registry | None, topics: Sequence[str] | None) -> Chosen:
    """The schema of one column."""
    if part.format == "string":
        return Chosen(part)
    if part.given:
        text, references = given_schema(part)
        return Chosen(part, text, references, part.message, prefixed=registry is not None)
    if registry is None:
        assert part.format == "json", part
        return Chosen(part)
    found = _registered(part, registry, topics)
    if found.format != part.format:
        raise FormatError(
            f"The registry's schema for the {part.column} is {found.format}, not {part.format}.",
            f"Set {part.column}Format={found.format}, or another {part.column}Subject.",
        )
    return Chosen(part, found.text, found.references, part.message, prefixed=True)


def _registered(part: Part, registry: Registry, topics: Sequence[str] | None) -> Registered:
    client = client_of(registry)
    if part.schema_id is not None:
        found = client.by_key(part.schema_id)
        if found is None:
            raise FormatError(f"The registry has no schema {part.schema_id}.", f"Option {part.column}SchemaId")
        return found
    subject = subject_of(part, topics)
    try:
        return client.by_subject(subject, part.version)
    except NotThereError:
        which = "" if part.version is None else f", version {part.version}"
        raise FormatError(
            f"The registry has no subject {subject}{which}.",
            f"Set {part.column}Subject to the one that the producers use, or {part.column}Schema to the schema itself.",
        ) from None


def subject_of(part: Part, topics: Sequence[str] | None) -> str:
    """The subject that a column's schema is registered under."""
    if part.subject is not None:
        return part.subject
    if part.strategy != "topic" and part.message is None:
        raise FormatError(
            f"{part.column}SubjectStrategy={part.strategy} needs the name of the record.",
            f"Set {part.column}Message to its full name, or {part.column}Subject to the subject.",
        )
    if part.strategy == "record":
        return str(part.message)
    if topics is None or len(topics) != 1:
        said = "topics are chosen by a pattern" if topics is None else f"there are several topics: {listed(topics)}"
        raise FormatError(
            f"Which schema does the {part.column} have? {said[0].upper()}{said[1:]}.",
            f"Set {part.column}Subject to one of their subjects, or {part.column}Schema to the schema itself.",
        )
    return f"{topics[0]}-{part.column if part.strategy == 'topic' else part.message}"


def given_schema(part: Part) -> tuple[str, tuple[Reference, ...]]:
    """The schema that the options hold or name; with a file of Protobuf, the files that it imports, too."""
    if part.schema is not None:
        return part.schema, ()
    assert part.schema_file is not None
    text = _file(part, part.schema_file)
    if part.format != "protobuf":
        return text, ()
    found: dict[str, str] = {}
    _imported(part, text, os.path.dirname(part.schema_file), found)
    return text, tuple(Reference(name, one) for name, one in found.items())


def _imported(part: Part, text: str, folder: str, found: dict[str, str]) -> None:
    from tapelog.spark.formats.protobuf.parser import imports_of
    from tapelog.spark.formats.protobuf.wellknown import WELL_KNOWN

    for name in imports_of(text):
        if name in found or name in WELL_KNOWN:
            continue
        found[name] = ""  # taken, so that a circle ends
        inner = _file(part, os.path.join(folder, name))
        _imported(part, inner, folder, found)
        del found[name]
        found[name] = inner


def _file(part: Part, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FormatError(f"The schema cannot be read: {why}.", f"Option {part.column}SchemaFile: {path}") from None
    if len(text) > FILE_BYTES_MAX:
        raise FormatError("The schema is too large.", f"Option {part.column}SchemaFile: {path}")
    return text
