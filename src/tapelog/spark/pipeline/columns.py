"""Columns where they are known without Spark: of declared schemas, and of steps that keep or name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.spark.pipeline.model import (
    META,
    Dedupe,
    FileSource,
    Join,
    LakeSource,
    Part,
    Python,
    Shape,
    Sql,
    TopicSource,
    Window,
)

Columns = tuple[tuple[str, str], ...]
"""Names and types; a type is empty where only the name is known."""

_META_TYPES: Final = dict(
    zip(
        META,
        ("binary", "binary", "string", "int", "bigint", "timestamp", "array<struct<key:string,value:binary>>"),
        strict=True,
    )
)
_RAW: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_RAW_TYPES: Final = ("binary", "binary", "string", "int", "bigint", "timestamp", "int")


def ddl_columns(text: str) -> Columns | None:
    """Columns of `order BIGINT, lines ARRAY<STRUCT<item: STRING>>`; None where it is none."""
    pieces, depth, piece = [], 0, ""
    for char in text:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += char
    pieces.append(piece)
    made = []
    for one in pieces:
        words = one.strip().replace(":", " ", 1).split(None, 1) if "<" not in one.split(":")[0] else one.split(None, 1)
        if len(words) != 2 or depth != 0:
            return None
        made.append((words[0].strip("`"), words[1].partition(" COMMENT")[0].strip().lower()))
    return tuple(made)


def meta_columns(source: TopicSource) -> Columns:
    """Where a decoded row comes from."""
    headers = source.options.get("includeHeaders", "").lower() == "true"
    return tuple((name, _META_TYPES[name]) for name in META if name != "_headers" or headers)


def columns_of(part: Part, known: Mapping[str, Columns | None]) -> Columns | None:
    """The columns of its result, given those of its inputs; None: only Spark knows."""
    match part.does:
        case TopicSource() as source:
            return _of_topic(source)
        case FileSource(schema=schema):
            return ddl_columns(schema) if schema is not None else None
        case Window() as window:
            return _of_window(window, known.get(part.inputs[0]))
        case Join() as join:
            return _of_join(join, known.get(part.inputs[0]), known.get(part.inputs[1]))
        case Dedupe() | Shape(select=()):
            return known.get(part.inputs[0])
        case Sql() | Python() | LakeSource() | Shape():
            return None


def _of_topic(source: TopicSource) -> Columns | None:
    if source.format == "raw":
        chosen = source.options.get("columns")
        types = dict(zip(_RAW, _RAW_TYPES, strict=True))
        if chosen is not None:
            return tuple((name.strip(), types.get(name.strip(), "")) for name in chosen.split(","))
        return tuple(types.items())
    if source.format == "string":
        return (("value", "string"), *meta_columns(source))
    decoded = ddl_columns(source.schema) if source.format == "json" and source.schema else None
    return None if decoded is None else (*decoded, *meta_columns(source))


def _of_window(window: Window, given: Columns | None) -> Columns:
    types = dict(given or ())
    times = (("window_start", "timestamp"), ("window_end", "timestamp"))
    return (*times, *((name, types.get(name, "")) for name in window.by), *((name, "") for name in window.aggregate))


def _of_join(join: Join, left: Columns | None, right: Columns | None) -> Columns | None:
    if left is None or (right is None and join.how not in ("semi", "anti")):
        return None
    if join.how in ("semi", "anti"):
        return left
    if join.condition is not None:
        return (*left, *(right or ()))
    shared = set(join.on)
    return (
        *(one for one in left if one[0] in shared),
        *(one for one in left if one[0] not in shared),
        *(one for one in right or () if one[0] not in shared),
    )
