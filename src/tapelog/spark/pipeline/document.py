"""A TOML or YAML file as one tree of values that know their line. Nothing here knows what a pipeline is."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.pipeline.problems import DocumentError, Problem
from tapelog.spark.pipeline.toml_lines import Path, toml_lines

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
NODES_MAX: Final = 100_000
"""Values in a file; aliases of YAML count each time that they are used."""

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and the line of the key that it belongs to."""

    value: Scalar | list[Node] | dict[str, Node]
    line: int

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {name: node.plain() for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def parse(text: str, file: str) -> Node:
    """The tree of a document; the file's ending says which language it is in. DocumentError if it is not."""
    if len(text) > FILE_BYTES_MAX:
        raise DocumentError(file, [Problem(0, f"is larger than {FILE_BYTES_MAX // 2**20} MiB: no pipeline needs that")])
    if file.lower().endswith((".yaml", ".yml")):
        return _from_yaml(text, file)
    if file.lower().endswith(".toml"):
        return _from_toml(text, file)
    raise DocumentError(file, [Problem(0, "is neither .toml nor .yaml: give it the ending of what it is")])


def located(value: Any, lines: Mapping[Path, int] | None = None, path: Path = (), line: int = 0) -> Node:
    """A tree from plain values; a value without a line of its own has that of what it lies in."""
    here = (lines or {}).get(path, line)
    if isinstance(value, Mapping):
        return Node({str(name): located(one, lines, (*path, name), here) for name, one in value.items()}, here)
    if isinstance(value, list | tuple):
        return Node([located(one, lines, (*path, number), here) for number, one in enumerate(value)], here)
    return Node(value if isinstance(value, Scalar) else str(value), here)


def _from_toml(text: str, file: str) -> Node:
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\s*\(at line (\d+), column \d+\)", str(error))
        reason = str(error)[: at.start()] if at else re.sub(r"\s*\(at end of document\)", " (at its end)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        raise DocumentError(file, [Problem(line, f"this is no TOML: {reason}")]) from None
    return located(plain, toml_lines(text), (), 1)


def _from_yaml(text: str, file: str) -> Node:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        problem = Problem(0, "YAML needs PyYAML: `pip install 'tapelog[pipelines]'`, or write the same as TOML")
        raise DocumentError(file, [problem]) from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 0
        raise DocumentError(file, [Problem(line, f"this is no YAML: {error.problem or error.context}")]) from None
    except yaml.YAMLError as error:
        raise DocumentError(file, [Problem(0, f"this is no YAML: {str(error).splitlines()[0]}")]) from None
    if root is None:
        return Node({}, 1)
    return _YamlTree(yaml, file).node(root, root.start_mark.line + 1)


class _YamlTree:
    """PyYAML's nodes as ours. Keys are text (`on` is no truth value here), and only true and false are truth values."""

    def __init__(self, yaml: Any, file: str) -> None:
        self._yaml, self._file = yaml, file
        self._left = NODES_MAX

    def node(self, found: Any, line: int) -> Node:
        self._left -= 1
        if self._left < 0:
            raise DocumentError(
                self._file, [Problem(line, f"has more than {NODES_MAX} values: no pipeline needs that")]
            )
        if isinstance(found, self._yaml.MappingNode):
            return Node(self._mapping(found), line)
        if isinstance(found, self._yaml.SequenceNode):
            return Node([self.node(one, one.start_mark.line + 1) for one in found.value], line)
        return Node(self._scalar(found), line)

    def _mapping(self, found: Any) -> dict[str, Node]:
        made: dict[str, Node] = {}
        for key, value in found.value:
            line = key.start_mark.line + 1
            if not isinstance(key, self._yaml.ScalarNode):
                raise DocumentError(self._file, [Problem(line, "a key must be text")])
            if key.value in made:
                raise DocumentError(self._file, [Problem(line, f"{key.value} is here twice: keep one")])
            made[key.value] = self.node(value, line)
        return made

    def _scalar(self, found: Any) -> Scalar:
        kind, text = str(found.tag).rpartition(":")[2], str(found.value)
        if kind == "bool":
            return {"true": True, "false": False}.get(text.lower(), text)
        if kind == "null":
            return None
        try:
            return int(text.replace("_", "")) if kind == "int" else float(text) if kind == "float" else text
        except ValueError:
            return text
