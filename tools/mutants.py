"""`python tools/mutants.py --count 200`: would the tests notice if a machine were wrong?

Makes small random mistakes (tools/mistakes.py says which, and which are left out by rule) in the rooms that keep
promises, one at a time, in clones of this checkout, and runs tests until one fails. First every test runs once
without a mistake, and it is written down which functions it enters and what CPU time it takes (tools/touched.py). A
mutant then meets the tests that enter its function: those of its own room, the other unit tests, properties and
simulation. It counts as noticed when a test fails, fails again alone and passes without the mistake; or takes far more
CPU time than it took without it, or sleeps for minutes. Client programs, chaos, and most of the simulator's seeds are
not tried, and in a function that no test enters nothing is noticed. Same seed and sources, same mutants; each that no
test notices is told with its line.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mistakes import mistake, places

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = "src/tapelog/"
UNIT = "tests/unit/"
ROOMS: dict[str, list[str]] = {
    "raft": ["raft/*.py"],
    "replication": ["replication/*.py"],
    "recovery": [
        *("log/recovery.py", "log/trim.py", "log/scan.py", "log/epochs.py"),
        *("log/producer_state.py", "log/checkpoints.py", "log/snapshots.py"),
    ],
    "coordinators": ["coordinators/**/*.py"],
}
OWN = {room: f"{UNIT}{'log' if room == 'recovery' else room}/" for room in ROOMS}
UNIT_TESTS = [f"{UNIT}{room}" for room in ("raft", "replication", "log", "coordinators", "metadata", "node", "server")]
DEEP_TESTS = [
    "tests/properties",
    *(f"tests/simulation/test_{name}.py" for name in ("raft", "life_of_a_node", "life_of_a_cluster")),
]
SEEDS = {"TAPELOG_SEEDS": "75", "TAPELOG_CLUSTER_SEEDS": "60"}
MEMORY = 4 << 30
UNMADE = "cannot be made"
"""A mistake outside of functions, or one that changes what a function closes over: its file is written instead."""
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


def mutants(root: Path, rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """A sample, the same for the same seed, spread over the rooms as their code is."""
    found = [
        (room, file, place)
        for room in rooms
        for pattern in ROOMS[room]
        for file in sorted((root / SOURCES).glob(pattern))
        for place in places(file.read_text())
    ]
    sample = []
    for room, file, place in random.Random(seed).sample(found, min(count, len(found))):
        made = mistake(file.read_text(), place.at)
        name = str(file.relative_to(root))
        sample.append(Mutant(room, name, made.line, place.at, place.function, place.outer, made.before, made.after))
    return sample


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

    def __init__(self, folder: Path, commit: str, via: list[str]) -> None:
        self.folder = folder
        self.via = via
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
        if self._sound is None:
            self._sound = Keeper(self.folder, self.via, _files(table))
        groups = _groups(mutant, table)
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
                if by not in tests:
                    return by
                alone = {by: tests[by]}
                if keeper.ask(alone, mutant) and not sound.ask(alone, None):
                    return by
                tests = dict(itertools.islice(tests.items(), list(tests).index(by) + 1, None))  # it failed by chance
            shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
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
    groups: list[dict[str, float]] = [{}, {}, {}]
    for name in sorted(costs, key=lambda one: (costs[one], one)):
        own = name.startswith(OWN[mutant.room])
        groups[0 if own else 1 if name.startswith(UNIT) else 2][name] = costs[name]
    return groups


class Trial:
    """A sample, and what came out so far."""

    def __init__(self, sample: list[Mutant], table: Touches, seed: int, told: Path | None) -> None:
        self.sample = sample
        self.table = table
        self.seed = seed
        self.told = told
        self.tried: list[dict[str, object]] = []
        self._waiting = iter(sample)

    def work(self, bench: Bench, end: float, pause: Path | None) -> None:
        """One mutant after the other, until none is left or the time is over."""
        for mutant in self._waiting:
            while pause is not None and pause.exists():
                time.sleep(1)
            if time.monotonic() > end:
                return
            started = time.monotonic()
            by = bench.noticed(mutant, self.table)
            self.tried.append({**vars(mutant), "noticed_by": by, "seconds": round(time.monotonic() - started, 1)})
            if not by:
                sys.stdout.write(f"\n{mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}\n")
            missed = sum(not one["noticed_by"] for one in self.tried)
            sys.stdout.write(f"\r{len(self.tried)} of {len(self.sample)} tried, {missed} not noticed ")
            sys.stdout.flush()
            if self.told is not None:
                self.told.write_text(json.dumps({"seed": self.seed, "mutants": self.tried}, indent=1))

    def sum_up(self, rooms: list[str], minutes: float) -> float:
        """Tell it, per room; the share that was noticed."""
        noticed = sum(bool(one["noticed_by"]) for one in self.tried)
        share = noticed / max(1, len(self.tried))
        sys.stdout.write(
            f"\n{noticed} of {len(self.tried)} mutants were noticed ({share:.1%}), {minutes:.0f} minutes\n"
        )
        for room in rooms:
            of_room = [bool(one["noticed_by"]) for one in self.tried if one["room"] == room]
            sys.stdout.write(f"  {room}: {sum(of_room)} of {len(of_room)}\n")
        return share


def touches(bench: Bench, tests: list[str], folder: Path | None) -> Touches:
    """What each test enters; kept in a folder, if one is given, for the next run."""
    table: Touches = {}
    for one in tests:
        kept = folder / f"{one.replace('/', '-')}.json" if folder is not None else None
        if kept is not None and kept.exists():
            table |= json.loads(kept.read_text())
            continue
        found = bench.touches(one)
        table |= found
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(found))
    return table


def main() -> int:
    """Try the sample; 1 if fewer than asked for were noticed."""
    parser = argparse.ArgumentParser(prog="python tools/mutants.py", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="of " + ", ".join(ROOMS))
    parser.add_argument("--minutes", type=float, default=240.0, help="stop after so long; what was tried is told")
    parser.add_argument("--at-least", type=float, default=0.85, help="the share that must be noticed")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--quick", action="store_true", help="only the unit tests: what they leave needs a second look")
    parser.add_argument("--via", default="", help="words before each command, such as 'nice -n 19'")
    parser.add_argument("--pause", type=Path, default=None, help="begin no mutant while this file exists")
    parser.add_argument("--table", type=Path, default=None, help="a folder: what tests enter is kept and found there")
    parser.add_argument("--json", type=Path, default=None, help="write here after each mutant what came out")
    options = parser.parse_args()
    rooms = options.rooms.split(",")
    folder = Path(tempfile.mkdtemp(prefix="tapelog-mutants-"))
    began = time.monotonic()
    benches: list[Bench] = []
    try:
        benches = [Bench(folder / str(number), options.commit, options.via.split()) for number in range(options.jobs)]
        sample = mutants(benches[0].folder, rooms, options.count, options.seed)
        table = touches(benches[0], UNIT_TESTS if options.quick else UNIT_TESTS + DEEP_TESTS, options.table)
        sys.stdout.write(f"{len(table)} tests run in {time.monotonic() - began:.0f} s\n")
        trial = Trial(sample, table, options.seed, options.json)
        end = began + options.minutes * 60
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(trial.work, bench, end, options.pause) for bench in benches]:
                done.result()
    finally:
        for bench in benches:
            bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    share = trial.sum_up(rooms, (time.monotonic() - began) / 60)
    return 0 if share >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
