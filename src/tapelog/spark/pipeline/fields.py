"""Reading one table of a document: typed keys, mistakes noted by line, and no key left that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tapelog.spark.pipeline.document import Node
from tapelog.spark.pipeline.intervals import normal_interval
from tapelog.spark.pipeline.problems import Problems, nearest

_KINDS: Final = {
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


class Fields:
    """The keys of one table. Every reader notes a mistake and returns what lets reading go on; `done` ends it."""

    def __init__(self, node: Node, where: str, problems: Problems) -> None:
        self.where = where
        self.line = node.line
        self.problems = problems
        if not isinstance(node.value, dict):
            self.wrong(node.line, f"{where} is {_kind(node)}: expected a table of keys and values.")
        self._left = dict(node.value) if isinstance(node.value, dict) else {}
        self._lines = {name: one.line for name, one in self._left.items()}
        self._asked: list[str] = []

    def wrong(self, line: int, text: str) -> None:
        """Note a mistake."""
        self.problems.add(line, text)

    def line_of(self, name: str) -> int:
        """Where this key stands, or else the table."""
        return self._lines.get(name, self.line)

    def has(self, name: str) -> bool:
        """Whether the key was given."""
        return name in self._lines

    def know(self, *names: str) -> None:
        """Keys that could be here: what a mistaken one is compared with."""
        self._asked += names

    def take(self, name: str) -> Node | None:
        """The value as it stands; None: not given."""
        self._asked.append(name)
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        """Text that is not empty."""
        node = self.take(name)
        if node is None:
            return None
        if not isinstance(node.value, str) or not node.value.strip():
            self._expected(name, node, "text")
            return None
        return node.value

    def needed(self, name: str, example: str) -> str:
        """Text that must be there."""
        if not self.has(name):
            self._asked.append(name)
            self.wrong(self.line, f"{self.where} needs {name}, e.g. {name} = {example}.")
            return ""
        return self.text(name) or ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text is a list, too."""
        node = self.take(name)
        if node is None:
            return ()
        items = node.value if isinstance(node.value, list) else [node]
        found = [one.value for one in items if isinstance(one.value, str) and one.value.strip()]
        if len(found) != len(items) or not found:
            self._expected(name, node, "a text or a list of texts")
        return tuple(found)

    def choice(self, name: str, among: Iterable[str], default: str) -> str:
        """One of some words."""
        found = self.text(name)
        words = list(among)
        if found is None:
            return default
        if found not in words:
            self.wrong(
                self.line_of(name), f"{self.where}: {name} is {found!r}: expected {_or(words)}.{nearest(found, words)}"
            )
            return default
        return found

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        node = self.take(name)
        if node is None:
            return default
        if not isinstance(node.value, bool):
            self._expected(name, node, "true or false")
            return default
        return node.value

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number."""
        node = self.take(name)
        if node is None:
            return default
        if not isinstance(node.value, int) or isinstance(node.value, bool) or node.value < least:
            self._expected(name, node, f"a whole number, {least} or more")
            return default
        return node.value

    def interval(self, name: str) -> str | None:
        """A time such as `10 seconds` or `5m`, as Spark writes it."""
        found = self.text(name)
        if found is None:
            return None
        made = normal_interval(found)
        if made is None:
            self.wrong(
                self.line_of(name), f"{self.where}: {name} is {found!r}: expected a time such as '10 seconds' or '5m'."
            )
        return made

    def table(self, name: str) -> Fields | None:
        """A table in this one."""
        node = self.take(name)
        return None if node is None else Fields(node, f"{self.where}.{name}", self.problems)

    def tables(self, name: str) -> Iterator[Fields]:
        """A list of tables; one table is a list, too."""
        node = self.take(name)
        if node is None:
            return
        items = node.value if isinstance(node.value, list) else [node]
        for number, one in enumerate(items, 1):
            yield Fields(one, f"{self.where}.{name}[{number}]", self.problems)

    def named(self, name: str) -> Iterator[tuple[str, Fields]]:
        """The tables of a table, with their names."""
        node = self.take(name)
        if node is None:
            return
        if not isinstance(node.value, dict):
            self._expected(name, node, f"tables [{name}.NAME]")
            return
        for title, one in node.value.items():
            yield title, Fields(one, f"[{name}.{title}]", self.problems)

    def options(self, name: str | None = None) -> dict[str, str]:
        """Free names with plain values, as text (true, not True); without a name: all keys that are left."""
        if name is None:
            items, self._left = self._left, {}
        else:
            node = self.take(name)
            if node is None:
                return {}
            if not isinstance(node.value, dict):
                self._expected(name, node, "a table of names and values")
                return {}
            items = node.value
        made: dict[str, str] = {}
        for title, one in items.items():
            if isinstance(one.value, dict):  # TOML: kafka.bootstrap.servers without quotes is a table in a table
                made |= {
                    f"{title}.{rest}": value
                    for rest, value in Fields(one, f"{self.where}.{title}", self.problems).options().items()
                }
            elif isinstance(one.value, list) or one.value is None:
                self.wrong(one.line, f"{self.where}: {title} is {_kind(one)}: expected text, a number, true or false.")
            else:
                made[title] = str(one.value).lower() if isinstance(one.value, bool) else str(one.value)
        return made

    def done(self) -> None:
        """Note every key that nobody asked for, with the one that was probably meant."""
        for name, node in self._left.items():
            self.wrong(node.line, f"{self.where} has no key {name!r}.{nearest(name, dict.fromkeys(self._asked))}")

    def _expected(self, name: str, node: Node, what: str) -> None:
        self.wrong(node.line, f"{self.where}: {name} is {_kind(node)}: expected {what}.")


def _kind(node: Node) -> str:
    if node.value == "":
        return "empty"
    return _KINDS.get(type(node.value), "empty")


def _or(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
