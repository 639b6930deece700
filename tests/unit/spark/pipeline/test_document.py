"""TOML and YAML become one tree of values with lines."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.spark.pipeline.document import Node, parse
from tapelog.spark.pipeline.problems import DocumentError
from tapelog.spark.pipeline.toml_lines import toml_lines

TOML = '''# a comment = 1
title = "a # b"
[a]
x = 1 # why
"q.r" = [
    1,
    # between
    { k = "v", deep = { z = 1 } },
]
text = """
[no.table]
y = 2
"""
after = true
[[list]]
n = 1
[list.sub]
m = 2
[[list]]
n = 2
d.e.f = '''
TOML += "'''x\n'' y'''\nlast = 1979-05-27\n"


def walked(node: Node, *path: str | int) -> Node:
    """The node at a path."""
    for step in path:
        assert isinstance(node.value, dict | list)
        node = node.value[step]  # type: ignore[index]
    return node


def test_every_toml_key_knows_its_line() -> None:
    root = parse(TOML, "a.toml")
    lines = TOML.splitlines()

    def at(*path: str | int) -> str:
        return lines[walked(root, *path).line - 1]

    assert at("title").startswith("title")
    assert at("a") == "[a]" and at("a", "x").startswith("x = 1")
    assert at("a", "q.r").startswith('"q.r"') and at("a", "q.r", 0) == "    1,"
    assert at("a", "q.r", 1, "deep", "z").startswith("    { k")
    assert at("a", "after") == "after = true", "what looks like a table inside text is text"
    assert at("list", 0, "n") == "n = 1" and at("list", 0, "sub", "m") == "m = 2"
    assert at("list", 1, "n") == "n = 2" and at("list", 1, "d", "e", "f").startswith("d.e.f")
    assert at("list", 1, "last").startswith("last")


def test_a_tree_has_the_values_of_the_document() -> None:
    assert parse(TOML, "a.toml").plain()["a"] == tomllib.loads(TOML)["a"]


SCALARS = st.one_of(st.integers(), st.booleans(), st.text(alphabet="ab\"'#[]{}=,\\ ", max_size=8))
KEYS = st.text(alphabet="ab.#]\"' -", min_size=1, max_size=5)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(name)} = {_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[\n" + "".join(f"  {_toml(one)},  # ]\n" for one in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


@given(
    st.dictionaries(
        KEYS,
        st.recursive(
            SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
        ),
        max_size=5,
    )
)
def test_the_scanner_finds_exactly_the_keys_that_tomllib_finds(document: dict[str, object]) -> None:
    text = "".join(f"{_toml(name)} = {_toml(value)}\n\n" for name, value in document.items() if "\n" not in _toml(name))
    if any("\n" in _toml(value) and isinstance(value, dict) for value in document.values()):
        return  # an inline table stands on one line
    lines = toml_lines(text)
    assert tomllib.loads(text) == document

    def paths(value: object, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [path] + [found for name, one in items for found in paths(one, (*path, name))]

    assert set(lines) == {path for name, value in document.items() for path in paths(value, (name,))}
    starts = [lines[name,] for name in document]
    assert starts == sorted(starts) and len(set(starts)) == len(starts)


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = \n", 2), ("[a]\nx = 1\nx = 2\n", 3), ("a = [1,\n", 2), ("[a]\n[a]\n", 2)]
)
def test_what_is_no_toml_is_told_by_line(text: str, line: int) -> None:
    with pytest.raises(DocumentError) as error:
        parse(text, "a.toml")
    assert error.value.problems[0].line == line and "no TOML" in str(error.value)


YAML = """\
join:
  with: countries
  on: [country]        # not a truth value
  how: no
steps:
  a:
    sql: |
      SELECT 1
    flag: true
    n: 12
    nothing:
"""


def test_yaml_keys_know_their_lines_and_on_is_a_word() -> None:
    pytest.importorskip("yaml")
    root = parse(YAML, "a.yaml")
    assert root.plain()["join"] == {"with": "countries", "on": ["country"], "how": "no"}
    assert root.plain()["steps"]["a"] == {"sql": "SELECT 1\n", "flag": True, "n": 12, "nothing": None}
    assert walked(root, "join", "on").line == 3 and walked(root, "steps", "a", "n").line == 10


@pytest.mark.parametrize(("text", "line"), [("a: [1\nb: 2\n", 2), ("a: 1\na: 2\n", 2), ("a:\n\t- 1\n", 2)])
def test_what_is_no_yaml_is_told_by_line(text: str, line: int) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(DocumentError) as error:
        parse(text, "a.yml")
    assert error.value.problems[0].line == line


def test_aliases_cannot_blow_up_a_document() -> None:
    pytest.importorskip("yaml")
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="more than"):
        parse("\n".join(["a0: &a0 [x, x]", *levels]), "a.yml")


def test_another_ending_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"\.toml nor \.yaml"):
        parse("", "a.json")
