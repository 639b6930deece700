"""tools/mistakes.py: which mistakes are made, and that each is a program of its own."""

from __future__ import annotations

import ast
import importlib.util
import sys

from tests.tidy.rules import ROOT

_spec = importlib.util.spec_from_file_location("mistakes", ROOT / "tools" / "mistakes.py")
assert _spec is not None and _spec.loader is not None
mistakes = importlib.util.module_from_spec(_spec)
sys.modules["mistakes"] = mistakes
_spec.loader.exec_module(mistakes)

SOURCE = """
LIMIT = 3


class Machine:
    def __repr__(self):
        return "a" if self.on else "b"

    def step(self, at):
        log.info("at %d", at + 1)
        if at == self.end:
            self.seen += 1
        if not self.on:
            raise ValueError(f"{at - 1}")
        assert at < 9
        self.tell(min(at, LIMIT))
        return True
"""


def made(source: str) -> list[tuple[str, str]]:
    """Before and after, of every mistake."""
    every = [mistakes.mistake(source, place.at) for place in mistakes.places(source)]
    return [(one.before, one.after) for one in every]


def test_what_is_only_said_or_believed_is_left_alone() -> None:
    assert made(SOURCE) == [
        ("at == self.end", "at != self.end"),
        ("self.seen += 1", "pass"),
        ("not self.on", "self.on"),
        ("min(at, LIMIT)", "max(at, LIMIT)"),
        ("self.tell(min(at, LIMIT))", "pass"),
        ("return True", "return False"),
    ]


def test_a_mistake_knows_the_function_it_is_in() -> None:
    first = SOURCE.splitlines().index("    def step(self, at):") + 1
    assert {place.function for place in mistakes.places(SOURCE)} == {first}


def test_no_two_mistakes_give_the_same_program() -> None:
    source = (ROOT / "src/tapelog/replication/isr.py").read_text()
    texts = [ast.unparse(mistakes.mistake(source, place.at).tree) for place in mistakes.places(source)]
    assert len(set(texts)) == len(texts) > 10
    assert ast.unparse(ast.parse(source)) not in texts
