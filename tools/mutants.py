"""`python tools/mutants.py --count 200`: would the tests notice if a machine were wrong?

Makes small random mistakes (a comparison turned, a bound moved by one, a condition negated, a call left out) in the
rooms that keep promises, one at a time, in clones of this checkout, and runs the tests of that room. A mutant that no
test notices is told with its line, so that a test can be written or the line be seen to make no difference. Same seed,
same mutants.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = REPOSITORY / "src" / "tapelog"
TIMEOUT_S = 240

ROOMS: dict[str, tuple[list[str], list[list[str]]]] = {
    "raft": (["raft/*.py"], [["tests/unit/raft"], ["tests/simulation/test_raft.py"]]),
    "replication": (
        ["replication/*.py"],
        [
            ["tests/unit/replication", "tests/unit/node", "tests/unit/server"],
            ["tests/properties/test_replication.py", "tests/properties/test_followers.py"],
        ],
    ),
    "recovery": (
        [
            "log/recovery.py",
            "log/trim.py",
            "log/scan.py",
            "log/epochs.py",
            "log/producer_state.py",
            "log/checkpoints.py",
        ],
        [["tests/unit/log"], ["tests/properties/test_log_crashes.py", "tests/properties/test_log_transactions.py"]],
    ),
    "coordinators": (
        ["coordinators/*.py", "coordinators/*/*.py"],
        [
            ["tests/unit/coordinators"],
            [
                *("tests/properties/test_groups.py", "tests/properties/test_consumer_groups.py"),
                *("tests/properties/test_transactions.py", "tests/properties/test_txn_offsets.py"),
            ],
        ],
    ),
}
"""Which files, and which tests are tried in turn. The simulator has the last word on all of them."""
LAST_WORD = [["-m", "tapelog.sim", "--seeds", "40"], ["-m", "tapelog.sim", "--cluster", "--seeds", "25"]]

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
SWAPPED = {"min": "max", "max": "min"}
QUIET = ("log.", "logging.", "assert")


@dataclass(frozen=True)
class Mutant:
    """One mistake: where, what it was, what it became, and the whole file with it."""

    room: str
    file: str
    line: int
    before: str
    after: str
    text: str


class Mistakes(ast.NodeTransformer):
    """Counts the places where a mistake can be made, and makes the one of number `at`."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen = 0
        self.made: tuple[int, str, str] | None = None

    def _turn(self, node: ast.expr | ast.stmt, changed: ast.AST) -> ast.AST:
        self.seen += 1
        if self.seen - 1 != self.at:
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
        self.generic_visit(node)
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return node
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        return self._turn(node, changed)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Call) or ast.unparse(node).startswith(QUIET):
            return node
        return self._turn(node, ast.Pass())

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return self._turn(node, ast.Pass())

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in ("invariants", "__repr__", "__hash__", "__eq__"):
            return node
        return self.generic_visit(node)


def mutants(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """A sample, the same for the same seed, spread over the rooms as their code is."""
    places: list[tuple[str, Path, int]] = []
    for room in rooms:
        for pattern in ROOMS[room][0]:
            for file in sorted(SOURCES.glob(pattern)):
                counting = Mistakes(-1)
                counting.visit(ast.parse(file.read_text()))
                places += [(room, file, at) for at in range(counting.seen)]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    return [_mutant(room, file, at) for room, file, at in chosen]


def _mutant(room: str, file: Path, at: int) -> Mutant:
    making = Mistakes(at)
    tree = ast.fix_missing_locations(making.visit(ast.parse(file.read_text())))
    assert making.made is not None
    line, before, after = making.made
    return Mutant(room, str(file.relative_to(REPOSITORY)), line, _short(before), _short(after), ast.unparse(tree))


def _short(code: str) -> str:
    first = code.splitlines()[0]
    return first if len(first) < 100 else first[:97] + "..."


class Bench:
    """A clone in which mutants are tried one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run(["git", "clone", "-q", "--shared", str(REPOSITORY), str(folder)], check=True)
        (folder / ".venv").symlink_to(REPOSITORY / ".venv")

    def noticed(self, mutant: Mutant) -> str:
        """By what; empty if by nothing."""
        file = self.folder / mutant.file
        original = file.read_text()
        file.write_text(mutant.text)
        try:
            for tests in ROOMS[mutant.room][1]:
                words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout", "60", *tests]
                if not self._passes(words):
                    return " ".join(tests)
            for words in LAST_WORD:
                if not self._passes(words):
                    return " ".join(words)
            return ""
        finally:
            file.write_text(original)

    def _passes(self, words: list[str]) -> bool:
        environment = {
            **os.environ,
            "TAPELOG_HOT": "interpreted",
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        python = str(REPOSITORY / ".venv" / "bin" / "python")
        try:
            done = subprocess.run(
                [python, *words], cwd=self.folder, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> int:
    """Try the sample; 1 if fewer than asked for were noticed."""
    parser = argparse.ArgumentParser(prog="python tools/mutants.py", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="of " + ", ".join(ROOMS))
    parser.add_argument("--minutes", type=float, default=240.0, help="stop after so long; what was tried is told")
    parser.add_argument("--at-least", type=float, default=0.85, help="the share that must be noticed")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    sample = mutants(options.rooms.split(","), options.count, options.seed)
    folder = Path(tempfile.mkdtemp(prefix="tapelog-mutants-"))
    end = time.monotonic() + options.minutes * 60
    tried: list[dict[str, object]] = []

    def work(number: int) -> None:
        bench = Bench(folder / str(number))
        for mutant in sample[number :: options.jobs]:
            if time.monotonic() > end:
                return
            began = time.monotonic()
            by = bench.noticed(mutant)
            told = {key: value for key, value in vars(mutant).items() if key != "text"}
            tried.append({**told, "noticed_by": by, "seconds": round(time.monotonic() - began, 1)})
            if not by:
                sys.stdout.write(f"\n{mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}\n")
            missed = sum(not one["noticed_by"] for one in tried)
            sys.stdout.write(f"\r{len(tried)} of {len(sample)} tried, {missed} not noticed ")
            sys.stdout.flush()

    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(work, number) for number in range(options.jobs)]:
                done.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    noticed = sum(bool(one["noticed_by"]) for one in tried)
    sys.stdout.write(f"\n{noticed} of {len(tried)} mutants were noticed ({noticed / max(1, len(tried)):.1%})\n")
    for room in options.rooms.split(","):
        of_room = [one for one in tried if one["room"] == room]
        sys.stdout.write(f"  {room}: {sum(bool(one['noticed_by']) for one in of_room)} of {len(of_room)}\n")
    if options.json is not None:
        options.json.write_text(json.dumps({"seed": options.seed, "mutants": tried}, indent=1))
    return 0 if noticed >= options.at_least * len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
