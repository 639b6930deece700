"""Hypothesis values for any message, and the same value as an object of ours and as one of kio's.

A tree holds one entry per field of a struct, for all versions at once; `ours` and `theirs` take from it what a version
has. The definitions in codegen/definitions say which fields those are, so neither codec is asked about itself.
"""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from kio.index import UnknownEntity, load_entity_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.constants import EntityType

from codegen.model import Definition, Field, Struct, load_all, snake
from tapelog.wire.message import Message

DEFINITIONS: dict[str, Definition] = {
    d.name: d for d in load_all(Path(__file__).parents[2] / "codegen" / "definitions")
}
MESSAGES = sorted(name for name, d in DEFINITIONS.items() if d.kind in ("request", "response", "header"))
RECORDS = sorted(name for name in DEFINITIONS if name not in MESSAGES)

_INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_KIO_TYPES = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}


def _scalar(field: Field) -> st.SearchStrategy[Any]:
    if field.name.endswith("ErrorCode"):
        return st.sampled_from([int(code) for code in KioErrorCode])
    if field.type == "int64" and ("Time" in field.name or field.name.endswith("Ms")):
        return st.integers(0, 4_000_000_000).map(lambda seconds: seconds * 1000)  # what kio's datetimes can hold
    if field.type in _INTEGERS:
        return st.integers(*_INTEGERS[field.type])
    return {
        "bool": st.booleans(),
        "float64": st.floats(allow_nan=False, allow_infinity=False),
        "uuid": st.binary(min_size=16, max_size=16) | st.just(bytes(16)),
        "string": _TEXT,
        "bytes": st.binary(max_size=6),
        "records": st.binary(max_size=12),
    }[field.type]


@cache
def field_values(name: str, index: int, struct_name: str) -> st.SearchStrategy[Any]:
    """Values of one field: a list for arrays, None now and then where some version allows it."""
    struct = next(s for s in DEFINITIONS[name].structs if s.name == struct_name)
    field = struct.fields[index]
    item = trees(name, field.struct.name) if field.struct is not None else _scalar(field)
    value = st.lists(item, max_size=2) if field.array else item
    return value if field.nullable.empty else st.none() | value


@cache
def trees(name: str, struct_name: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """Values of all fields of a struct."""
    struct = next(s for s in DEFINITIONS[name].structs if s.name == struct_name)
    return st.tuples(*[field_values(name, i, struct_name) for i in range(len(struct.fields))])


def message_trees(name: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """Values of a whole message."""
    return trees(name, name)


def our_class(name: str, struct_name: str | None = None) -> type[Message]:
    """The generated class."""
    folder = "messages" if name in MESSAGES else "records"
    found = getattr(import_module(f"tapelog.wire.{folder}.{snake(name)}"), struct_name or name)
    assert isinstance(found, type)
    assert issubclass(found, Message)
    return found


def _present(struct: Struct, tree: tuple[Any, ...], version: int) -> list[tuple[Field, Any]]:
    """The fields a version has, with a value that the version allows."""
    found = []
    for field, value in zip(struct.fields, tree, strict=True):
        if version not in field.versions:
            continue
        if value is None and version not in field.nullable:
            value = _smallest(field)
        found.append((field, value))
    return found


def _smallest(field: Field) -> Any:
    if field.array:
        return []
    if field.struct is not None:
        return tuple(None if not f.nullable.empty else _smallest(f) for f in field.struct.fields)
    return {"string": "", "bytes": b"", "records": b"", "uuid": bytes(16), "bool": False}.get(field.type, 0)


def ours(name: str, tree: tuple[Any, ...], version: int) -> Message:
    """The tree as our message."""
    return _our_struct(name, DEFINITIONS[name].root, tree, version)


def _our_struct(name: str, struct: Struct, tree: tuple[Any, ...], version: int) -> Message:
    values: dict[str, Any] = {}
    for field, value in _present(struct, tree, version):
        if field.struct is not None and value is not None:
            inner = field.struct
            if field.array:
                value = [_our_struct(name, inner, item, version) for item in value]
            else:
                value = _our_struct(name, inner, value, version)
        values[field.attribute] = value
    made = our_class(name, struct.name)
    return made(**values)


def their_class(name: str, version: int) -> Any:
    """kio's class for a message in a version; UnknownEntity or KeyError if it has none."""
    kind = _KIO_TYPES[DEFINITIONS[name].kind]
    base = name.removesuffix("Request").removesuffix("Response")
    return load_entity_schema(snake(base).replace("kraft", "k_raft"), version, kind)


def kio_has(name: str, version: int) -> bool:
    """Does kio know this message in this version?"""
    try:
        their_class(name, version)
    except (UnknownEntity, KeyError):
        return False
    return True


def theirs(name: str, tree: tuple[Any, ...], version: int) -> Any:
    """The tree as kio's message."""
    return _their_struct(their_class(name, version), DEFINITIONS[name].root, tree, version)


def _their_struct(cls: Any, struct: Struct, tree: tuple[Any, ...], version: int) -> Any:
    values: dict[str, Any] = {}
    module = import_module(cls.__module__)
    for kio_field, (field, value) in zip(dataclasses.fields(cls), _present(struct, tree, version), strict=True):
        assert _bare(kio_field.name) in (_bare(field.attribute), _bare(field.attribute.removesuffix("_ms")))
        if field.struct is not None and value is not None:
            inner = getattr(module, field.struct.name)
            if field.array:
                value = tuple(_their_struct(inner, field.struct, item, version) for item in value)
            else:
                value = _their_struct(inner, field.struct, value, version)
        elif field.array and value is not None:
            value = tuple(_their_scalar(kio_field.metadata["kafka_type"], item) for item in value)
        elif value is not None:
            value = _their_scalar(kio_field.metadata["kafka_type"], value)
        values[kio_field.name] = value
    return cls(**values)


def _bare(name: str) -> str:
    return name.replace("_", "")


def _their_scalar(kind: str, value: Any) -> Any:
    if kind == "uuid":
        return uuid.UUID(bytes=value) if value != bytes(16) else None
    if kind == "error_code":
        return KioErrorCode(value)
    if kind.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if kind == "datetime_i64":
        return _EPOCH + datetime.timedelta(milliseconds=value)
    return value
