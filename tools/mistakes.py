"""The mistakes that tools/mutants.py makes: where one is possible, and the file with one made.

Kinds: a comparison turned or moved by one, `and` for `or`, a `not` left out, plus for minus, min for max, a condition
negated, True for False, a call or an increment left out. Left out by rule, since nothing that is promised depends on
them: what is only said (lines that log, `raise` and its text, `__repr__`), what is only believed (`assert`, methods
named `invariants`), `TYPE_CHECKING`, `__eq__` and `__hash__`. Two mistakes that give the same program count once.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SWAPPED = {"min": "max", "max": "min"}
QUIET = ("log.", "logging.")
UNTOUCHED = ("invariants", "__repr__", "__hash__", "__eq__")


@dataclass(frozen=True)
class Place:
    """Where a mistake can be made: its number in the file, its line, and the first lines of the functions around it."""

    at: int
    line: int
    function: int
    """The innermost; 0 outside functions: such a line runs when the module is imported."""
    outer: int
    """The outermost."""


@dataclass(frozen=True)
class Made:
    """One mistake: its line, what stood there, what stands there now, and the whole file with it."""

    line: int
    before: str
    after: str
    tree: ast.Module


def places(source: str) -> list[Place]:
    """Every place in this file, in its order."""
    counting = _Mistakes(-1)
    counting.visit(ast.parse(source))
    return counting.places


def mistake(source: str, at: int) -> Made:
    """The file with the mistake of number `at`."""
    making = _Mistakes(at)
    tree = ast.fix_missing_locations(making.visit(ast.parse(source)))
    assert making.made is not None
    line, before, after = making.made
    return Made(line, _short(before), _short(after), tree)


def _short(code: str) -> str:
    first = code.splitlines()[0]
    return first if len(first) < 100 else first[:97] + "..."


class _Mistakes(ast.NodeTransformer):
    def __init__(self, at: int) -> None:
        self.at = at
        self.places: list[Place] = []
        self.made: tuple[int, str, str] | None = None
        self._functions: list[int] = []

    def _turn(self, node: ast.expr | ast.stmt, changed: ast.AST) -> ast.AST:
        around = self._functions or [0]
        self.places.append(Place(len(self.places), node.lineno, around[-1], around[0]))
        if len(self.places) - 1 != self.at:
            return node
        self.made = (node.lineno, ast.unparse(node), ast.unparse(changed))
        return ast.copy_location(changed, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        turned = COMPARISONS.get(type(node.ops[0]))
        if turned is None:
            return node
        changed = copy.deepcopy(node)
        changed.ops[0] = turned()
        return self._turn(node, changed)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        changed = copy.deepcopy(node)
        changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        return self._turn(node, changed)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._turn(node, copy.deepcopy(node.operand)) if isinstance(node.op, ast.Not) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add | ast.Sub) or isinstance(node.left, ast.Constant | ast.JoinedStr):
            return node
        changed = copy.deepcopy(node)
        changed.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return self._turn(node, changed)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in SWAPPED and len(node.args) > 1:
            changed = copy.deepcopy(node)
            assert isinstance(changed.func, ast.Name)
            changed.func.id = SWAPPED[node.func.id]
            return self._turn(node, changed)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        test = copy.deepcopy(node.test)
        self.generic_visit(node)
        if ast.unparse(test) == "TYPE_CHECKING" or _turned_already(test):
            return node
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        return self._turn(node, changed)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if ast.unparse(node).startswith(QUIET):
            return node
        self.generic_visit(node)
        return self._turn(node, ast.Pass()) if isinstance(node.value, ast.Call) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return self._turn(node, ast.Pass())

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self._other_truth(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return self._other_truth(node)

    def _other_truth(self, node: ast.Assign | ast.Return) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, bool):
            return node
        changed = copy.deepcopy(node)
        changed.value = ast.Constant(not node.value.value)
        return self._turn(node, changed)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if node.name in UNTOUCHED else self._within(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._within(node)

    def _within(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._functions.append(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]))
        self.generic_visit(node)
        self._functions.pop()
        return node


def _turned_already(test: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], ORDERED)
