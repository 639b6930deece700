"""The Arrow type of a JSON schema: DDL, the JSON that Spark writes of its own schemas, or JSON Schema.

Of JSON Schema, what says how data is laid out: type, properties, items, additionalProperties, $ref, oneOf with null.
What has no single type becomes a string with the JSON text in it. Rules (minimum, pattern, required …) are not checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.json.ddl import DEPTH_MAX, parse_ddl, simple_type
from tapelog.spark.plan.formats import Reference

_TYPES: Final[dict[str, Any]] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "null": pa.null(),
}
TEXT: Final = pa.string()
"""Of what may be anything."""


def json_type(text: str, references: Sequence[Reference] = ()) -> Any:
    """The type of values that this schema describes; SchemaError."""
    if not text.strip().startswith("{"):
        return parse_ddl(text)
    try:
        given = json.loads(text)
        others = {one.name: json.loads(one.text) for one in references}
    except (ValueError, RecursionError):
        raise SchemaError("it is neither DDL nor JSON") from None
    if given.get("type") == "struct" and isinstance(given.get("fields"), list):
        return _spark(given, 0)
    return _JsonSchema(given, others).type(given, given, 0)


def _spark(given: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise SchemaError("types lie too deep within each other")
    if isinstance(given, str):
        found = simple_type(given)
        if found is None:
            raise SchemaError(f"there is no type {given[:40]}")
        return found
    try:
        match given["type"]:
            case "struct":
                return pa.struct(
                    [pa.field(str(one["name"]), _spark(one["type"], depth + 1)) for one in given["fields"]]
                )
            case "array":
                return pa.list_(pa.field("element", _spark(given["elementType"], depth + 1)))
            case "map":
                return pa.map_(pa.string(), pa.field("value", _spark(given["valueType"], depth + 1)))
    except (KeyError, TypeError):
        pass
    raise SchemaError(f"Spark's JSON has no type like {json.dumps(given)[:60]}")


class _JsonSchema:
    def __init__(self, root: Any, others: dict[str, Any]) -> None:
        self._root = root
        self._others = others

    def type(self, given: Any, document: Any, depth: int) -> Any:
        """The type of a part of `document`."""
        if depth > DEPTH_MAX:
            raise SchemaError("it lies within itself, or too deep, which Spark cannot show")
        if not isinstance(given, dict):
            return TEXT
        if "$ref" in given:
            inner, where = self._found(str(given["$ref"]), document)
            return self.type(inner, where, depth + 1)
        for word in ("oneOf", "anyOf"):
            if word in given:
                branches = [one for one in given[word] if one != {"type": "null"}]
                return self.type(branches[0], document, depth + 1) if len(branches) == 1 else TEXT
        if "allOf" in given and "properties" not in given:
            return self.type(given["allOf"][0], document, depth + 1) if len(given["allOf"]) == 1 else TEXT
        return self._plain(given, document, depth)

    def _plain(self, given: dict[str, Any], document: Any, depth: int) -> Any:
        kinds = given.get("type", "object" if "properties" in given else "")
        words = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if one != "null"]
        if words == ["integer", "number"] or words == ["number", "integer"]:
            words = ["number"]
        kind = words[0] if len(words) == 1 else ("null" if kinds == ["null"] else "")
        if kind == "object":
            fields = given.get("properties")
            if fields:
                return pa.struct([pa.field(name, self.type(one, document, depth + 1)) for name, one in fields.items()])
            values = given.get("additionalProperties")
            if isinstance(values, dict):
                return pa.map_(pa.string(), pa.field("value", self.type(values, document, depth + 1)))
            return TEXT
        if kind == "array":
            items = given.get("items")
            return pa.list_(pa.field("element", self.type(items, document, depth + 1))) if items else TEXT
        return _TYPES.get(kind, TEXT)

    def _found(self, reference: str, document: Any) -> tuple[Any, Any]:
        """What a $ref names, and the document that it is in."""
        name, _, pointer = reference.partition("#")
        where = document
        if name:
            if name not in self._others:
                raise SchemaError(f"it refers to {name[:80]}, which is not there")
            where = self._others[name]
        found = where
        for part in pointer.strip("/").split("/") if pointer.strip("/") else ():
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or part not in found:
                raise SchemaError(f"it refers to {reference[:80]}, which is not there")
            found = found[part]
        return found, where
