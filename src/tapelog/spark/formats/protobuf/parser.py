"""Reads .proto files: proto2, proto3 and editions, as far as they say how data is laid out.

Options, services, extensions and reserved numbers are passed over. Groups are refused.
"""

from __future__ import annotations

import re
from typing import Final

from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.protobuf.model import Enum, Field, File, Message

PROTO_CHARS_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 64
NUMBER_MAX: Final = (1 << 29) - 1
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[\w.]+|[-+{}\[\]()<>=;,:/])""",
    re.DOTALL,
)
_IMPORT: Final = re.compile(r"""^\s*import\s+(?:public\s+|weak\s+)?["']([^"']+)["']\s*;""", re.MULTILINE)
_LABELS: Final = ("optional", "required", "repeated")


def imports_of(text: str) -> list[str]:
    """The files that this one imports, in order."""
    return list(dict.fromkeys(_IMPORT.findall(text)))


def parse_proto(text: str) -> File:
    """What the file says; SchemaError with the line where it cannot be read."""
    if len(text) > PROTO_CHARS_MAX:
        raise SchemaError("it is too long")
    return _Parser(text).file()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, int]] = []
        at, line = 0, 1
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise SchemaError(f"line {line} cannot be read: {text[at : at + 20].splitlines()[0]!r}")
            if found[1]:
                self._tokens.append((found[1], line))
            line += found[0].count("\n")
            at = found.end()
        self._at = 0
        self._implicit = False

    def file(self) -> File:
        made = File()
        while self._at < len(self._tokens):
            word = self._take()
            match word:
                case "syntax" | "edition":
                    self._take("=")
                    self._implicit = self._text() == "proto3"
                    self._take(";")
                case "package":
                    made.package = self._take()
                    self._take(";")
                case "import":
                    if self._peek() in ("public", "weak"):
                        self._take()
                    made.imports.append(self._text())
                    self._take(";")
                case "message":
                    made.messages.append(self._message(made.package, 0))
                case "enum":
                    made.enums.append(self._enum(made.package))
                case "option" | "service" | "extend" | ";":
                    self._pass_over(word)
                case _:
                    raise self._wrong(word)
        return made

    def _message(self, scope: str, depth: int) -> Message:
        if depth > DEPTH_MAX:
            raise SchemaError("messages lie too deep within each other")
        made = Message(_within(scope, self._take()))
        self._take("{")
        while (word := self._take()) != "}":
            match word:
                case "message" if self._is_block():
                    made.messages.append(self._message(made.name, depth + 1))
                case "enum" if self._is_block():
                    made.enums.append(self._enum(made.name))
                case "oneof" if self._is_block():
                    self._oneof(made)
                case "option" | "extend" | "reserved" | "extensions" | ";":
                    self._pass_over(word)
                case "map" if self._peek() == "<":
                    made.fields.append(self._map())
                case _:
                    label = word if word in _LABELS and self._peek() != "=" else ""
                    made.fields.append(self._field(self._take() if label else word, label, ""))
        numbers = [one.number for one in made.fields]
        if len(dict.fromkeys(numbers)) != len(numbers) or len({one.name: 0 for one in made.fields}) != len(numbers):
            raise SchemaError(f"the message {made.name} has a name or a number twice")
        return made

    def _is_block(self) -> bool:
        """Whether a name and a brace follow, rather than the name of a field."""
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1][0] == "{"

    def _oneof(self, message: Message) -> None:
        name = self._take()
        self._take("{")
        while (word := self._take()) != "}":
            if word in ("option", ";"):
                self._pass_over(word)
            else:
                message.fields.append(self._field(word, "", name))

    def _map(self) -> Field:
        self._take("<")
        key = self._take()
        self._take(",")
        value = self._take()
        self._take(">")
        made = self._field(value, "repeated", "")
        made.key = key
        return made

    def _field(self, kind: str, label: str, oneof: str) -> Field:
        name = self._take()
        if kind == "group" or not re.fullmatch(r"\w+", name):
            raise self._wrong(kind)
        self._take("=")
        word, line = self._take(), self._tokens[self._at - 1][1]
        try:
            number = int(word, 0)
        except ValueError:
            number = 0
        if not 0 < number <= NUMBER_MAX:
            raise SchemaError(f"line {line}: the field {name} has no number that is possible: {word}")
        if self._peek() == "[":
            self._pass_brackets()
        self._take(";")
        presence = bool(oneof) or label in ("optional", "required") or not self._implicit
        return Field(name, number, kind, label == "repeated", presence, oneof)

    def _enum(self, scope: str) -> Enum:
        made = Enum(_within(scope, self._take()))
        self._take("{")
        while (word := self._take()) != "}":
            if word in ("option", "reserved", ";") and self._peek() != "=":
                self._pass_over(word)
                continue
            self._take("=")
            sign = -1 if self._peek() == "-" else 1
            if sign < 0:
                self._take()
            number = self._take()
            try:
                made.values.setdefault(sign * int(number, 0), word)  # with allow_alias, the first name counts
            except ValueError:
                raise self._wrong(number) from None
            if self._peek() == "[":
                self._pass_brackets()
            self._take(";")
        if not made.values:
            raise SchemaError(f"the enum {made.name} has no values")
        return made

    def _pass_over(self, word: str) -> None:
        """A statement that says nothing about data: up to its semicolon, or to the end of its braces."""
        depth = 0
        while word != ";" or depth:
            word = self._take()
            depth += (word == "{") - (word == "}")
            if word == "}" and depth <= 0:
                return

    def _pass_brackets(self) -> None:
        depth = 0
        while True:
            word = self._take()
            depth += (word == "[") - (word == "]")
            if depth == 0:
                return

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        if self._at >= len(self._tokens):
            raise SchemaError("it ends too early")
        word = self._tokens[self._at][0]
        if expected and word != expected:
            raise self._wrong(word, expected)
        self._at += 1
        return word

    def _text(self) -> str:
        word = self._take()
        if word[0] not in "\"'":
            raise self._wrong(word, "text in quotes")
        return word[1:-1]

    def _wrong(self, word: str, expected: str = "something else") -> SchemaError:
        line = self._tokens[min(self._at, len(self._tokens) - 1)][1]
        return SchemaError(f"line {line}: {expected} is expected where {word[:40]!r} is")


def _within(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
