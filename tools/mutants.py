"""`python tools/mutants.py --count 200`: would the tests notice if a machine were wrong?

Makes small random mistakes (tools/mistakes.py says which, and which are left out by rule) in the rooms that keep
promises, one at a time, in clones of this checkout, and runs tests until one fails. First every test runs once
without a mistake, and it is written down which functions it enters and what CPU time it takes (tools/touched.py). A
mutant then meets the tests that enter its function: those of its own room, the other unit tests, properties and
simulation. It counts as noticed when a test fails, and fails again alone, or takes far more CPU time than it took
without the mistake. Client programs, chaos, and most of the simulator's seeds are not tried, and a function that no
test enters is not noticed. Same seed and sources, same mutants; each that no test notices is told with its line.
"""

from __future__ import annotations

import argparse
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
TEST_S = 300
"""A test that only waits is ended after so long."""
RUN_S = 3600
MEMORY = 4 << 30
Touches = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Mutant:
    """One mistake, and the function it is in."""

    room: str
    file: str
    line: int
    function: int
    before: str
    after: str
    text: str


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
        sample.append(Mutant(room, name, made.line, place.function, made.before, made.after, made.text))
    return sample


class Bench:
    """A clone in which mutants are tried one after the other."""

    def __init__(self, folder: Path, commit: str, via: list[str]) -> None:
        self.folder = folder
        self.via = via
        self.failed = folder.with_suffix(".failed")
        subprocess.run(["git", "clone", "-q", "--shared", str(REPOSITORY), str(folder)], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)
        (folder / ".venv").symlink_to(REPOSITORY / ".venv")

    def touches(self, tests: str) -> Touches:
        """Every test: what it enters and takes, from a run without mistakes."""
        told = self.folder.with_suffix(".touches")
        more = {"TAPELOG_TOUCHES": str(told), "TAPELOG_TOUCHED_ROOT": f"{self.folder}/"}
        self._pytest(["--timeout", "0", tests], more)
        table: Touches = json.loads(told.read_text())
        return table

    def noticed(self, mutant: Mutant, table: Touches) -> str:
        """By which test; empty if by none."""
        key = f"{mutant.file}:{mutant.function}"
        costs = {
            name: float(str(row["cpu"]))
            for name, row in table.items()
            if not mutant.function or key in row["entered"]  # type: ignore[operator]
        }
        own = [name for name in costs if name.startswith(OWN[mutant.room])]
        deep = [name for name in costs if not name.startswith(UNIT)]
        near = [name for name in costs if name.startswith(UNIT) and name not in own]
        file = self.folder / mutant.file
        original = file.read_text()
        file.write_text(mutant.text)
        try:
            for group in (own, near, deep):
                by = self._try({name: costs[name] for name in sorted(group, key=lambda one: (costs[one], one))})
                if by:
                    return by
            return ""
        finally:
            file.write_text(original)
            shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)

    def _try(self, tests: dict[str, float]) -> str:
        while tests:
            by = self._first_failure(tests)
            if not by or by.startswith("no end") or by not in tests or self._first_failure({by: tests[by]}):
                return by
            tests = dict(itertools.islice(tests.items(), list(tests).index(by) + 1, None))  # it failed by chance
        return ""

    def _first_failure(self, tests: dict[str, float]) -> str:
        chosen = self.folder.with_suffix(".chosen")
        chosen.write_text(json.dumps(tests))
        self.failed.unlink(missing_ok=True)
        files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
        more = {"TAPELOG_CHOSEN": str(chosen), "TAPELOG_FAILED": str(self.failed)}
        passed = self._pytest(["-x", "--timeout", str(TEST_S), *files], more)
        return "" if passed else self.failed.read_text() if self.failed.exists() else "does not start"

    def _pytest(self, words: list[str], more: dict[str, str]) -> bool:
        environment = {
            **os.environ,
            **SEEDS,
            **more,
            "TAPELOG_HOT": "interpreted",
            "PYTHONPATH": f"{self.folder}/src:{REPOSITORY}/tools",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        python = str(REPOSITORY / ".venv" / "bin" / "python")
        usual = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "touched", "--tb", "no"]
        process = subprocess.Popen(
            [*self.via, python, *usual, *words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        try:
            return process.wait(RUN_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


class Trial:
    """A sample, and what came out so far."""

    def __init__(self, sample: list[Mutant], table: Touches, seed: int, told: Path | None) -> None:
        self.sample = sample
        self.table = table
        self.seed = seed
        self.told = told
        self.tried: list[dict[str, object]] = []
        self._waiting = iter(sample)

    def work(self, bench: Bench, end: float) -> None:
        """One mutant after the other, until none is left or the time is over."""
        for mutant in self._waiting:
            if time.monotonic() > end:
                return
            started = time.monotonic()
            by = bench.noticed(mutant, self.table)
            about = {key: value for key, value in vars(mutant).items() if key != "text"}
            self.tried.append({**about, "noticed_by": by, "seconds": round(time.monotonic() - started, 1)})
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
    parser.add_argument("--table", type=Path, default=None, help="a folder: what tests enter is kept and found there")
    parser.add_argument("--json", type=Path, default=None, help="write here after each mutant what came out")
    options = parser.parse_args()
    rooms = options.rooms.split(",")
    folder = Path(tempfile.mkdtemp(prefix="tapelog-mutants-"))
    began = time.monotonic()
    try:
        benches = [Bench(folder / str(number), options.commit, options.via.split()) for number in range(options.jobs)]
        sample = mutants(benches[0].folder, rooms, options.count, options.seed)
        table = touches(benches[0], UNIT_TESTS if options.quick else UNIT_TESTS + DEEP_TESTS, options.table)
        sys.stdout.write(f"{len(table)} tests run in {time.monotonic() - began:.0f} s\n")
        trial = Trial(sample, table, options.seed, options.json)
        end = began + options.minutes * 60
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(trial.work, bench, end) for bench in benches]:
                done.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    share = trial.sum_up(rooms, (time.monotonic() - began) / 60)
    return 0 if share >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
