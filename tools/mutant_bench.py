"""Clones in which tools/mutants.py tries its mutants: which tests they meet, and what counts as noticed."""

from __future__ import annotations

import ast
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mistakes import mistake

REPOSITORY = Path(__file__).resolve().parent.parent
UNIT = "tests/unit/"
OWN = {"raft": "raft", "replication": "replication", "recovery": "log", "coordinators": "coordinators"}
UNIT_TESTS = [f"{UNIT}{room}" for room in ("raft", "replication", "log", "coordinators", "metadata", "node", "server")]
CLUSTERS = "tests/simulation/test_life_of_a_cluster.py"
NODES = "tests/simulation/test_life_of_a_node.py"
DEEP_TESTS = {
    "raft": ["tests/simulation/test_raft.py", CLUSTERS],
    "replication": ["tests/properties/test_followers.py", "tests/properties/test_replication.py", CLUSTERS],
    "recovery": ["tests/properties/test_log_crashes.py", "tests/properties/test_log_transactions.py", NODES],
    "coordinators": [
        *("tests/properties/test_offset_loading.py", "tests/properties/test_assignors.py"),
        *("tests/properties/test_groups.py", "tests/properties/test_consumer_groups.py"),
        *("tests/properties/test_txn_offsets.py", "tests/properties/test_transactions.py"),
        *("tests/properties/test_migration.py", NODES),
    ],
}
DEEP_S = 20.0
"""More CPU time than any of them takes in one test."""
SEEDS = {"TAPELOG_SEEDS": "75", "TAPELOG_CLUSTER_SEEDS": "60"}
MEMORY = 4 << 30
UNMADE = "cannot be made"
"""A mistake outside of functions, or one that changes what a function closes over: its file is written instead."""
NO_END = "no end"
Touches = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Mutant:
    """One mistake: its number in its file, the functions it is in, and what it changes."""

    room: str
    file: str
    line: int
    at: int
    function: int
    outer: int
    before: str
    after: str


class Keeper:
    """A pytest that has collected its tests and waits for mistakes (tools/touched.py)."""

    def __init__(self, folder: Path, via: list[str], tests: list[str]) -> None:
        asks, self._asks = os.pipe()
        self._answers, answers = os.pipe()
        words = ["-x", "--timeout", "0", "--basetemp", f"{folder}.tmp", *tests]
        more = {"TAPELOG_ASKS": str(asks), "TAPELOG_ANSWERS": str(answers)}
        self._process = start(folder, via, words, more, (asks, answers))
        os.close(asks)
        os.close(answers)
        self._lines = os.fdopen(self._answers)
        self.starts = bool(self._lines.readline().strip())

    def ask(self, tests: dict[str, float], mutant: Mutant | None) -> str:
        """The first of these tests that fails; empty if none does."""
        asked: dict[str, object] = {"file": "", "tests": tests}
        if mutant is not None:
            asked |= {"file": mutant.file, "at": mutant.at, "outer": mutant.outer}
        os.write(self._asks, f"{json.dumps(asked)}\n".encode())
        return str(json.loads(self._lines.readline() or '"no end: all of it died"'))

    def close(self) -> None:
        """End it."""
        os.close(self._asks)
        self._lines.close()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()


def start(
    folder: Path, via: list[str], words: list[str], more: dict[str, str], pipes: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    """A pytest in this clone, with tools/touched.py."""
    environment = {
        **os.environ,
        **SEEDS,
        **more,
        "TAPELOG_HOT": "interpreted",
        "PYTHONPATH": f"{folder}/src:{REPOSITORY}/tools",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    python = str(REPOSITORY / ".venv" / "bin" / "python")
    usual = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "touched", "--tb", "no"]
    return subprocess.Popen(
        [*via, python, *usual, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=pipes,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )


class Bench:
    """A clone in which mutants are tried one after the other."""

    def __init__(self, folder: Path, commit: str, via: list[str], deep: dict[str, list[str]]) -> None:
        self.folder = folder
        self.via = via
        self.deep = deep
        self._sound: Keeper | None = None
        subprocess.run(["git", "clone", "-q", "--shared", str(REPOSITORY), str(folder)], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)
        (folder / ".venv").symlink_to(REPOSITORY / ".venv")

    def touches(self, tests: str) -> Touches:
        """Every test: what it enters and takes, from a run without mistakes."""
        told = self.folder.with_suffix(".touches")
        start(self.folder, self.via, ["--timeout", "0", tests], {"TAPELOG_TOUCHES": str(told)}).wait()
        table: Touches = json.loads(told.read_text())
        return table

    def noticed(self, mutant: Mutant, table: Touches) -> str:
        """By which test; empty if by none."""
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        if self._sound is None:
            self._sound = Keeper(self.folder, self.via, _files([*table, *(itertools.chain(*self.deep.values()))]))
        groups = _groups(mutant, table) + [{file: DEEP_S} for file in self.deep.get(mutant.room, [])]
        by = self._try(self._sound, mutant, groups, self._sound) if mutant.function else UNMADE
        if by != UNMADE:
            return by
        file = self.folder / mutant.file
        original = file.read_text()
        file.write_text(ast.unparse(mistake(original, mutant.at).tree))
        keeper = Keeper(self.folder, self.via, _files(dict.fromkeys(itertools.chain(*groups))))
        try:
            return self._try(keeper, None, groups, self._sound) if keeper.starts else "does not start"
        finally:
            keeper.close()
            file.write_text(original)

    def close(self) -> None:
        """End what waits."""
        if self._sound is not None:
            self._sound.close()

    def _try(self, keeper: Keeper, mutant: Mutant | None, groups: list[dict[str, float]], sound: Keeper) -> str:
        for group in groups:
            tests = group
            while tests:
                by = keeper.ask(tests, mutant)
                if not by:
                    break
                if by == UNMADE or by.startswith(NO_END):
                    return by
                alone = {by: tests.get(by, DEEP_S)}
                if keeper.ask(alone, mutant) and not sound.ask(alone, None):
                    return by
                position = list(tests).index(by) if by in tests else 0
                tests = dict(itertools.islice(tests.items(), position + 1, None))  # it failed by chance
        return ""


def _files(tests: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))


def _groups(mutant: Mutant, table: Touches) -> list[dict[str, float]]:
    key = f"{mutant.file}:{mutant.function}"
    costs = {
        name: float(str(row["cpu"]))
        for name, row in table.items()
        if not mutant.function or key in row["entered"]  # type: ignore[operator]
    }
    groups: list[dict[str, float]] = [{}, {}]
    for name in sorted(costs, key=lambda one: (costs[one], one)):
        groups[0 if name.startswith(f"{UNIT}{OWN[mutant.room]}/") else 1][name] = costs[name]
    return groups
