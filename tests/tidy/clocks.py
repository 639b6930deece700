"""Rules against tests that a busy machine fails: what they say about a file is a list of complaints.

`judged_by_the_clock`: an assert that bounds from above what the clock on the wall has measured. Count instead: steps,
bytes, calls, CPU seconds, or time on a clock of the test's own. A lower bound is fine: a busy machine keeps it.

`short_waits`: a wait for something that will happen, bounded by less than WAIT_S_MIN. Nobody waits longer than it
takes, so the bound may be generous. Waits below SILENCE_S_MAX are meant to pass without an event, and those inside
`try`, `pytest.raises` or `suppress` may end without one: the test goes on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

WAIT_S_MIN = 20.0
SILENCE_S_MAX = 2.0
WALL_CLOCKS = {"time.monotonic", "time.time", "time.perf_counter", "time.monotonic_ns", "time.time_ns"}
WAITS = {"wait", "join", "result", "settimeout"}
"""Methods whose first argument is how long they wait, where what they are called on is no clock of the test's own."""

Files = Iterable[tuple[str, str]]


def judged_by_the_clock(files: Files) -> list[str]:
    """Upper bounds on measured time, as `file::function`."""
    trees = {name: ast.parse(text) for name, text in files}
    measured = _names_of_measured(trees.values())
    complaints = []
    for name, tree in trees.items():
        limits = _constants(tree)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                local = measured | _assigned(function, measured, ast.Name)
                found = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
                complaints += [f"{name}::{function.name}" for one in found if _bounds(one.test, local, limits)]
    return sorted(set(complaints))


def short_waits(files: Files) -> list[str]:
    """Waits that a busy machine may miss, as `file:line: source`."""
    complaints = []
    for name, text in files:
        tree = ast.parse(text)
        forgiven = {id(node) for block in _forgiving(tree) for node in ast.walk(block)}
        for node in ast.walk(tree):
            if id(node) not in forgiven and any(SILENCE_S_MAX <= seconds < WAIT_S_MIN for seconds in _waits(node)):
                complaints.append(f"{name}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:100]}")
    return complaints


def _forgiving(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements whose failure the test expects."""
    for node in ast.walk(tree):
        if (isinstance(node, ast.Try) and node.handlers) or (
            isinstance(node, ast.With)
            and any(
                ast.unparse(item.context_expr).startswith(("pytest.raises", "contextlib.suppress"))
                for item in node.items
            )
        ):
            yield from node.body


def _waits(node: ast.AST) -> Iterator[float]:
    """How many seconds this node waits at most: a call with a timeout, or a deadline."""
    if isinstance(node, ast.Call):
        yield from (_number(more.value) for more in node.keywords if more.arg == "timeout")
        if isinstance(node.func, ast.Attribute) and node.func.attr in WAITS and len(node.args) == 1:
            yield _number(node.args[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_clock(node.left):
        yield _number(node.right)


def _names_of_measured(trees: Iterable[ast.Module]) -> set[str]:
    """Attributes that are assigned what a clock measured, and functions that return it, anywhere."""
    found: set[str] = set()
    for tree in list(trees):
        found |= _assigned(tree, set(), ast.Attribute)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
                if any(_is_difference(value) for value in returned):
                    found.add(function.name)
    return found


def _assigned(scope: ast.AST, measured: set[str], kind: type[ast.Name] | type[ast.Attribute]) -> set[str]:
    """Names, or attributes, that are assigned a measured time in here."""
    found = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and _is_measured(node.value, measured):
            found |= {_name(target) for target in node.targets if isinstance(target, kind)}
    return found


def _bounds(test: ast.expr, measured: set[str], limits: dict[str, float]) -> bool:
    """Is there a comparison in it that a measured time fails by being large?"""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                if isinstance(op, ast.Gt | ast.GtE):
                    left, right = right, left
                elif not isinstance(op, ast.Lt | ast.LtE):
                    continue
                if _is_measured(left, measured) and _number(right, limits) < WAIT_S_MIN:
                    return True
    return False


def _is_measured(value: ast.expr, measured: set[str]) -> bool:
    return any(
        _is_difference(node) or (isinstance(node, ast.Name | ast.Attribute) and _name(node) in measured)
        for node in ast.walk(value)
    )


def _is_difference(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_clock(node.left)


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in WALL_CLOCKS


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _constants(tree: ast.Module) -> dict[str, float]:
    """NAME = number, at the top of a module."""
    return {
        _name(target): _number(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    }


def _number(node: ast.AST, constants: dict[str, float] | None = None) -> float:
    """Its value; 0 of what is no number that can be read here, so that an unknown limit counts as a small one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    return (constants or {}).get(_name(node), 0.0)
