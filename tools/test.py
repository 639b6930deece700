"""`make test`: say what will run, run it, and end with what was left out and why.

Called by the Makefile with the virtual environment's Python. `--quick` is the minute's worth: checks that take
seconds and the unit tests, interpreted. Names of suites limit the run to them.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from plan import CHECKS, COMPILED, INTERPRETED, QUICK, SUITES, TOOLS, Check, Suite

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
KAFKA_LIB = ROOT / ".tools" / "kafka" / "lib"
LIMIT_S = 1800


@dataclass
class Result:
    """What became of one line of the plan."""

    name: str
    ok: bool
    seconds: float
    note: str = ""
    left_out: list[tuple[int, str, str]] = field(default_factory=list)


def main() -> int:
    """Plan, run, sum up; 0 only if everything that ran succeeded and nothing required was left out."""
    parser = argparse.ArgumentParser(description="Run the tests of Tapelog.")
    parser.add_argument("--quick", action="store_true", help="about a minute: unit tests, interpreted")
    parser.add_argument("--hot", choices=(INTERPRETED, COMPILED), help="only with this hot path")
    parser.add_argument("suites", nargs="*", help=f"default: all of {', '.join(suite.name for suite in SUITES)}")
    options = parser.parse_args()
    unknown = set(options.suites) - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")

    began = time.monotonic()
    names = options.suites or (QUICK if options.quick else [suite.name for suite in SUITES])
    ways = (options.hot,) if options.hot else (INTERPRETED,) if options.quick else (INTERPRETED, COMPILED)
    marks = ["-m", "not slow"] if options.quick else []
    suites = [s for s in SUITES if s.name in names and any((ROOT / s.path).rglob("test_*.py"))]
    runs = [(suite, way) for way in ways for suite in suites if way in suite.hot]
    checks = [c for c in CHECKS if not options.suites and (c.quick or not options.quick)]

    counted = count_tests(suites, marks)
    show_plan(checks, runs, counted, quick=options.quick)
    results = [run(check.name, [str(BIN / check.command[0]), *check.command[1:]]) for check in checks]
    if "clients" in [suite.name for suite in suites] and (ROOT / "tests/clients/setup.sh").exists():
        results.append(run("client set-up", ["sh", "tests/clients/setup.sh"]))
    results += run_suites(runs, marks)
    return sum_up(results, time.monotonic() - began)


def run_suites(runs: list[tuple[Suite, str]], marks: list[str]) -> list[Result]:
    """Every suite in turn. The build keeps one core busy, and the last interpreted suite mostly waits: together."""
    results: list[Result] = []
    building: Building | None = None
    for position, (suite, way) in enumerate(runs):
        ways = [other for _, other in runs[position : position + 2]]
        if building is None and COMPILED in ways:
            building = Building()
        if building is not None and way == COMPILED:
            results += building.finish()
        results.append(run_suite(suite, way, marks))
    return results


def environment(way: str = "") -> dict[str, str]:
    """The environment of everything that is run."""
    env = {"TAPELOG_KAFKA_LIB": str(KAFKA_LIB)} | os.environ | {"PYTHONPATH": str(ROOT / "src")}
    env["PATH"] = f"{BIN}{os.pathsep}{env.get('PATH', '')}"
    if way:
        env["TAPELOG_HOT"] = way
    return env


def count_tests(suites: list[Suite], marks: list[str]) -> Counter[str]:
    """How many tests each suite holds, by asking pytest to collect them."""
    if not suites:
        return Counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *marks, *(suite.path for suite in suites)]
    found = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    return Counter(
        line.split("/")[1] for line in found.stdout.splitlines() if line.startswith("tests/") and "::" in line
    )


def show_plan(checks: list[Check], runs: list[tuple[Suite, str]], counted: Counter[str], *, quick: bool) -> None:
    """The plan and its sizes, before anything runs."""
    print("Plan")
    if checks:
        print(f"  {'checks':<11} {', '.join(check.name for check in checks)}")
    for suite, way in runs:
        time_ = f"~{suite.minutes:g} min"
        print(f"  {suite.name:<11} {way:<12} {counted[suite.name]:>5} tests  {time_:>9}  {suite.about}")
    here = [name for name in TOOLS if shutil.which(name)]
    absent = [f"{name} ({use})" for name, use in TOOLS.items() if name not in here]
    print(f"  outside     here: {', '.join(here) or 'none'}" + (f"; absent: {', '.join(absent)}" if absent else ""))
    print(f"  required    {os.environ.get('TAPELOG_REQUIRE') or 'nothing: what needs an absent program is left out'}")
    others = 0.5 + (1.5 if any(way == COMPILED for _, way in runs) else 0)
    minutes = "under a minute" if quick else f"about {sum(suite.minutes for suite, _ in runs) + others:.0f} minutes"
    total = sum(counted[suite.name] for suite, _ in runs)
    print(f"  in all      {total} tests, {minutes} on two cores\n", flush=True)


def run(name: str, command: list[str], env: dict[str, str] | None = None) -> Result:
    """One command in its own process group, with a limit; whatever it leaves behind is ended with it."""
    print(f"== {name}", flush=True)
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env=env or environment(), start_new_session=True)
    note = ""
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        code, note = 1, f"no end after {LIMIT_S} s"
    finally:
        end_group(process)
    return Result(name, code == 0, time.monotonic() - began, note or ("" if code == 0 else f"exit code {code}"))


class Building:
    """`make build` in the background."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "tools/compiled.py", "build"],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._lines: list[bytes] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        atexit.register(self._abandon)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        self._lines += self._process.stdout
        self._ended = time.monotonic()

    def _abandon(self) -> None:
        if self._process.returncode is None:
            end_group(self._process)

    def finish(self) -> list[Result]:
        """Wait, and tell what it said; nothing when that has been told."""
        if self._process.returncode is not None:
            return []
        print("== build", flush=True)
        note = ""
        try:
            code = self._process.wait(LIMIT_S)
            note = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            code, note = 1, f"no end after {LIMIT_S} s"
        end_group(self._process)
        self._listener.join()
        print(b"".join(self._lines).decode(errors="replace"), end="", flush=True)
        return [Result("build", code == 0, self._ended - self._began, note)]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask whatever is left of a command to end, then insist."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        time.sleep(0.3)
    process.wait()


def run_suite(suite: Suite, way: str, marks: list[str]) -> Result:
    """One suite with one hot path."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        workers = ["-n", str(suite.workers)] if suite.workers else ["-p", "no:xdist"]
        if suite.by_file:
            workers += ["--dist", "loadfile"]
        command = [sys.executable, "-m", "pytest", "-q", *workers, *marks, suite.path]
        result = run(f"{suite.name}, {way}", command, environment(way) | {"TAPELOG_REPORT": str(report)})
        if report.exists():
            told = json.loads(report.read_text())
            counts = ", ".join(f"{count} {what}" for what, count in told["counts"].items() if count)
            result.note = ", ".join(part for part in (counts, result.note) if part)
            result.left_out = [(count, path, reason) for count, path, reason in told["left_out"]]
    return result


def sum_up(results: list[Result], seconds: float) -> int:
    """The last page: what happened, what was left out and why."""
    print("\nSummary")
    for result in results:
        print(f"  {'ok    ' if result.ok else 'FAILED'} {result.seconds:6.1f} s  {result.name:<26} {result.note}")
    left_out = Counter[str]()
    for result in results:
        for count, path, reason in result.left_out:
            left_out[f"{path}: {reason}"] = max(left_out[f"{path}: {reason}"], count)
    print("Left out" if left_out else "Nothing was left out.")
    for what, count in sorted(left_out.items()):
        print(f"  {count:4d} tests of {what}")
    failed = [result.name for result in results if not result.ok]
    print(f"{'FAILED: ' + '; '.join(failed) if failed else 'All passed'} in {seconds / 60:.1f} minutes.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
