"""The syntax of Java's .properties files: what `server.properties` of Apache Kafka is written in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Property:
    """One setting, and the number of the line where it begins."""

    line: int
    name: str
    value: str


def parse(text: str) -> list[Property]:
    """The settings, in order; of a name that is set twice the last one, as Java has it. ValueError for a bad escape."""
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        name, value = _split(line)
        try:
            one = Property(number, _unescaped(name), _unescaped(value).strip())
        except ValueError:
            raise ValueError(f"line {number}: \\u must be followed by four hexadecimal digits") from None
        found.pop(one.name, None)
        found[one.name] = one
    return list(found.values())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, continued ones joined; comments and blank lines left out."""
    begun, joined = 0, ""
    for number, natural in enumerate(_LINE_END.split(text), 1):  # str.splitlines knows more ends than Java does
        line = natural.lstrip(_BLANKS)
        if not joined and (not line or line[0] in "#!"):
            continue
        begun = begun or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield begun, joined + line
        begun, joined = 0, ""
    if joined:
        yield begun, joined


def _split(line: str) -> tuple[str, str]:
    """At the first `=`, `:` or blank that no backslash stands before."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANKS:
        at += 2 if line[at] == "\\" else 1
    rest = line[at:].lstrip(_BLANKS)
    return line[:at], rest[1:].lstrip(_BLANKS) if rest[:1] in ("=", ":") else rest


def _unescaped(text: str) -> str:
    out, at = [], 0
    while at < len(text):
        character = text[at]
        at += 1
        if character != "\\":
            out.append(character)
            continue
        escaped = text[at : at + 1]
        at += 1
        if escaped == "u":
            digits = text[at : at + 4]
            if len(digits) < 4:
                raise ValueError("too short")
            out.append(chr(int(digits, 16)))
            at += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    return "".join(out)
