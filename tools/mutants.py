"""`python tools/mutants.py --count 200`: would the tests notice if a machine were wrong?

Makes small random mistakes (tools/mistakes.py says which, and which are left out by rule) in the rooms that keep
promises, one at a time, in clones of this checkout, and runs tests until one fails. First every unit test runs once
without a mistake, and it is written down which functions it enters and what CPU time it takes (tools/touched.py). A
mutant then meets the unit tests that enter its function, those of its own room first, and after them the properties
and the simulation of its room. It counts as noticed when a test fails, fails again alone and passes without the
mistake; or takes far more CPU time than it took without it, or sleeps for minutes. Client programs, chaos, and most of
the simulator's seeds are not tried. Same seed and sources, same mutants; each that no test notices is told with its
line.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from mistakes import mistake, places
from mutant_bench import DEEP_TESTS, UNIT_TESTS, Bench, Mutant, Touches

SOURCES = "src/tapelog/"
SAME = ("file", "at", "before", "after")
"""By this a mutant is known again."""
ROOMS: dict[str, list[str]] = {
    "raft": ["raft/*.py"],
    "replication": ["replication/*.py"],
    "recovery": [
        *("log/recovery.py", "log/trim.py", "log/scan.py", "log/epochs.py"),
        *("log/producer_state.py", "log/checkpoints.py", "log/snapshots.py"),
    ],
    "coordinators": ["coordinators/**/*.py"],
}


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


def _told(file: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(file.read_text())["mutants"]
    return found


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
    parser.add_argument("--again", type=Path, default=None, help="only what this --json of before tells as unnoticed")
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
        deep = {} if options.quick else DEEP_TESTS
        for number in range(options.jobs):
            benches.append(Bench(folder / str(number), options.commit, options.via.split(), deep))
        sample = mutants(benches[0].folder, rooms, options.count, options.seed)
        if options.again is not None:
            left = [tuple(one[key] for key in SAME) for one in _told(options.again) if not one["noticed_by"]]
            sample = [one for one in sample if tuple(vars(one)[key] for key in SAME) in left]
        table = touches(benches[0], UNIT_TESTS, options.table)
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
