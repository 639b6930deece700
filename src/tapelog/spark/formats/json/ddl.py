"""Types as SQL writes them: `id BIGINT, items ARRAY<STRUCT<sku: STRING, price: DECIMAL(10,2)>>`."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.formats.errors import SchemaError

DEPTH_MAX: Final = 64
_TOKEN: Final = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*')|([\w.]+)|([<>(),:]))")
_SIMPLE: Final[dict[str, Any]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""Also the names that Spark's JSON uses."""
_DECIMAL: Final = ("decimal", "dec", "numeric")


def simple_type(name: str) -> Any:
    """The type of a single word, as DDL and Spark's JSON write it; None: it is none."""
    found = _SIMPLE.get(name.lower())
    if found is None and (parts := re.fullmatch(r"decimal\((\d+), ?(-?\d+)\)", name)):
        return _decimal(int(parts[1]), int(parts[2]))
    return _decimal(10, 0) if found is None and name.lower() in _DECIMAL else found


def parse_ddl(text: str) -> Any:
    """The Arrow type: of a list of columns a struct, of a single type that type; SchemaError."""
    try:
        parser = _Parser(text)
        made = parser.type(0)
        parser.end()
        return made
    except SchemaError as whole:
        try:
            parser = _Parser(text)
            made = pa.struct(parser.fields("", 0))
            parser.end()
            return made
        except SchemaError as error:
            raise (error if "," in text or " " in text.strip() else whole) from None


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise SchemaError(f"nothing is expected like {text[at : at + 20].strip()!r}")
            self._tokens.append(found[0].strip())
            at = found.end()
        self._at = 0

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise SchemaError(f"{expected or 'a name'} is expected where {token or 'the end'} is")
        self._at += 1
        return token

    def end(self) -> None:
        if self.peek():
            raise SchemaError(f"the end is expected where {self.peek()} is")

    def fields(self, close: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while True:
            name = self.take()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self.peek() == ":":
                self.take()
            found.append(pa.field(name, self.type(depth)))
            while self.peek().lower() in ("not", "null", "comment"):
                if self.take().lower() == "comment":
                    self.take()
            if self.peek() == close:
                break
            self.take(",")
        if len(dict.fromkeys(one.name.lower() for one in found)) != len(found):
            raise SchemaError("a name is there twice")
        return found

    def type(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise SchemaError("types lie too deep within each other")
        name = self.take()
        match name.lower():
            case "array":
                self.take("<")
                made = pa.list_(pa.field("element", self.type(depth + 1)))
                self.take(">")
                return made
            case "map":
                self.take("<")
                key = self.type(depth + 1)
                if not pa.types.is_string(key):
                    raise SchemaError("the keys of a map must be STRING")
                self.take(",")
                made = pa.map_(key, pa.field("value", self.type(depth + 1)))
                self.take(">")
                return made
            case "struct":
                self.take("<")
                made = pa.struct(self.fields(">", depth + 1))
                self.take(">")
                return made
            case "varchar" | "char":
                self._numbers()
                return pa.string()
            case "decimal" | "dec" | "numeric":
                numbers = self._numbers()
                return _decimal(numbers[0] if numbers else 10, numbers[1] if len(numbers) > 1 else 0)
        found = simple_type(name)
        if found is None:
            raise SchemaError(f"there is no type {name}")
        return found

    def _numbers(self) -> list[int]:
        if self.peek() != "(":
            return []
        self.take()
        found: list[int] = []
        while True:
            word = self.take()
            if not word.isdecimal():
                raise SchemaError(f"a number is expected where {word} is")
            found.append(int(word))
            if self.peek() != ",":
                self.take(")")
                return found
            self.take()


def _decimal(precision: int, scale: int) -> Any:
    if not 0 < precision <= 38 or not 0 <= scale <= precision:
        raise SchemaError(f"there is no DECIMAL({precision},{scale})")
    return pa.decimal128(precision, scale)
