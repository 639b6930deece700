"""Which tables a query reads: enough of SQL to draw a graph, no more. Spark understands the rest when it runs."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<skip>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<quoted>`(?:[^`]|``)+`)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_AFTER_TABLE: Final = frozenset(
    """
    where group order having limit union except intersect minus on using join inner left right full cross natural
    semi anti lateral window cluster distribute sort tablesample pivot unpivot qualify select from as offset
    """.split()  # noqa: SIM905
)
_BEFORE_TABLE: Final = frozenset(("from", "join"))


class SqlError(Exception):
    """No query that a step could be."""


def tables_in(text: str) -> tuple[str, ...]:
    """Names after FROM and JOIN, each once, in order; names with dots (Spark's catalog) and of WITH are left out."""
    words = _words(text)
    if not words or words[0].lower() not in ("select", "with", "from", "values", "("):
        raise SqlError("a step is one query: it begins with SELECT or WITH.")
    if ";" in words[:-1]:
        raise SqlError("a step is one query: make a step of each, and leave the semicolon out.")
    own = _common_tables(words)
    found: list[str] = []
    for index, word in enumerate(words):
        if word.lower() in _BEFORE_TABLE and not _is_function(words, index):
            found += _tables_after(words, index + 1)
    return tuple(dict.fromkeys(name for name in found if name.lower() not in own))


def _words(text: str) -> list[str]:
    made = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "quoted":
            made.append(match.group()[1:-1].replace("``", "`"))
        elif match.lastgroup == "text":
            made.append("''")
        elif match.lastgroup != "skip":
            made.append(match.group())
    while made and made[-1] == ";":
        made.pop()
    return made


def _is_function(words: list[str], index: int) -> bool:
    """FROM in extract(day FROM x), trim(both FROM x) and IS DISTINCT FROM names no table."""
    if words[index].lower() != "from":
        return False
    if index and words[index - 1].lower() == "distinct" and index > 1 and words[index - 2].lower() in ("is", "not"):
        return True
    depth = 0
    for back in range(index - 1, -1, -1):
        word = words[back]
        if word == ")":
            depth += 1
        elif word == "(":
            if depth == 0:
                return back > 0 and words[back - 1].lower() in ("extract", "trim", "substring", "substr", "overlay")
            depth -= 1
    return False


def _tables_after(words: list[str], index: int) -> list[str]:
    """One name, or several with commas between, each perhaps with another name for itself."""
    found: list[str] = []
    while index < len(words):
        if words[index].lower() == "lateral":
            index += 1
            continue
        if words[index] == "(":  # a query of its own, or tables in brackets
            if index + 1 < len(words) and words[index + 1].lower() not in ("select", "with", "values", "from"):
                found += _tables_after(words, index + 1)
            index = _closing(words, index) + 1
        else:
            name, index = _name_at(words, index)
            if name is not None:
                found.append(name)
        if index < len(words) and words[index].lower() == "as":
            index += 1
        if index < len(words) and words[index] not in (",", ")", "(") and words[index].lower() not in _AFTER_TABLE:
            index += 1  # another name
        if index >= len(words) or words[index] != ",":
            return found
        index += 1
    return found


def _name_at(words: list[str], index: int) -> tuple[str | None, int]:
    """A name without dots and arguments, or None; and the place behind it."""
    name: str | None = words[index]
    if not re.match(r"[A-Za-z_`]", words[index]):
        return None, index + 1
    index += 1
    while index + 1 < len(words) and words[index] == ".":
        name, index = None, index + 2
    if index < len(words) and words[index] == "(":  # a table-valued function
        return None, _closing(words, index) + 1
    return name, index


def _closing(words: list[str], index: int) -> int:
    depth = 0
    for place in range(index, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place], 0)
        if depth == 0:
            return place
    return len(words)


def _common_tables(words: list[str]) -> frozenset[str]:
    """Names that WITH gives: each is followed by AS ( …, perhaps with columns between."""
    names = set()
    if any(word.lower() == "with" for word in words):
        for index, word in enumerate(words[:-1]):
            if word.lower() == "as" and words[index + 1] == "(" and index:
                before = index - 1
                if words[before] == ")":
                    while before and words[before] != "(":
                        before -= 1
                    before -= 1
                names.add(words[before].lower())
    return frozenset(names)
