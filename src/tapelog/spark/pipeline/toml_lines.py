"""Where each key of a TOML document stands: tomllib tells values, not lines.

A scanner over text that tomllib has accepted, so it need not know what is wrong, only where things begin.
"""

from __future__ import annotations

import re
import tomllib
from typing import Final

Path = tuple[str | int, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_KEY: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[A-Za-z0-9_-]+")
_STRING: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' r"|'''(?:[^']|'(?!''))*'{3,5}" r"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL
)
_BARE: Final = re.compile(r"[^,\]}#\n]+")


def toml_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every key and every item of an array in a valid TOML document."""
    return _Scanner(text).lines()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}  # arrays of tables: how many tables so far
        self._passed = (0, 1)  # a position, and its line

    def lines(self) -> dict[Path, int]:
        table: Path = ()
        self._blank()
        while self._at < len(self._text):
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)
            self._blank()
        return self._found

    def _line(self) -> int:
        position, line = self._passed
        line += self._text.count("\n", position, self._at)
        self._passed = (self._at, line)
        return line

    def _blank(self) -> None:
        if match := _BLANK.match(self._text, self._at):
            self._at = match.end()

    def _note(self, path: Path, line: int) -> None:
        self._found.setdefault(path, line)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._blank()
            match = _KEY.match(self._text, self._at)
            assert match is not None
            raw = match.group()
            keys.append(tomllib.loads(f"k = {raw}")["k"] if raw[0] in "\"'" else raw)
            self._at = match.end()
            self._blank()
            if self._text[self._at] != ".":
                return keys
            self._at += 1

    def _header(self, brackets: int) -> Path:
        line = self._line()
        self._at += brackets
        path: Path = ()
        keys = self._keys()
        self._at += brackets
        for number, key in enumerate(keys):
            path = (*path, key)
            self._note(path, line)
            if brackets == 2 and number == len(keys) - 1:
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
                self._note(path, line)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, line)
        self._at += 1  # =
        self._value(path)

    def _value(self, path: Path) -> None:
        self._blank()
        self._note(path, self._line())
        if match := _STRING.match(self._text, self._at):
            self._at = match.end()
        elif self._text[self._at] == "[":
            self._items(path)
        elif self._text[self._at] == "{":
            self._inline(path)
        else:
            match = _BARE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()

    def _items(self, path: Path) -> None:
        self._at += 1
        number = 0
        self._blank()
        while self._text[self._at] != "]":
            self._value((*path, number))
            number += 1
            self._comma()
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        self._blank()
        while self._text[self._at] != "}":
            self._pair(path)
            self._comma()
        self._at += 1

    def _comma(self) -> None:
        self._blank()
        if self._text[self._at] == ",":
            self._at += 1
            self._blank()
