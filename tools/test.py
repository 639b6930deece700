"""`make test`: say what will run, run it, and end with what was left out and why.

Called by the Makefile with the virtual environment's Python. `--quick` is the checks that take
seconds, and the unit tests, interpreted. Names of suites limit the run to them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import Counter

from jobs import BIN, ROOT, Job, Result, environment, run
from lanes import Lanes, minutes
from plan import (
    BUILD_MINUTES,
    CHECKS,
    CHECKS_MINUTES,
    COMPILED,
    INTERPRETED,
    NICE_BUILD,
    NICE_COMPUTING,
    QUICK,
    SUITES,
    TOOLS,
    Check,
    Suite,
)

TEST_TIMEOUT_S = 600
"""Of one test; pytest's own setting is for a suite that has the machine to itself."""


def main() -> int:
    """Plan, run, sum up; 0 only if everything that ran succeeded and nothing required was left out."""
    parser = argparse.ArgumentParser(description="Run the tests of Tapelog.")
    parser.add_argument("--quick", action="store_true", help="lint and unit tests, interpreted")
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
    left_out = {s: reason for s in suites if s.setup and (reason := set_up(s.setup))}
    suites = [s for s in suites if s not in left_out]
    runs = [(suite, way) for way in ways for suite in suites if way in suite.hot]
    checks = [c for c in CHECKS if not options.suites and (c.quick or not options.quick)]

    counted = count_tests(suites, marks)
    show_plan(checks, runs, counted)
    for suite, reason in left_out.items():
        print(f"  left out    {suite.name}: {reason}")
    results = [run(Job(check.name, (str(BIN / check.command[0]), *check.command[1:]))) for check in checks]
    results += run_suites(runs, marks, counted)
    required = bool(os.environ.get("TAPELOG_REQUIRE"))
    results += [Result(s.name, not required, 0.0, f"left out: {reason}") for s, reason in left_out.items()]
    return sum_up(results, time.monotonic() - began)


def set_up(level: str) -> str:
    """Bring what a suite needs, saying so; the reason where that is not possible, else nothing."""
    ran = subprocess.run(["tools/setup", level], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(ran.stderr)
    said = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
    return "" if ran.returncode == 0 else (said[-1] if said else f"tools/setup {level} failed")


def run_suites(runs: list[tuple[Suite, str]], marks: list[str], counted: Counter[str]) -> list[Result]:
    """Those that wait beside those that compute, and the build beside both; one alone is shown as it goes."""
    jobs = [(suite, job_of(suite, way, marks, counted[suite.name])) for suite, way in runs]
    waiting = [job for suite, job in jobs if suite.waits]
    computing = [job for suite, job in jobs if not suite.waits]
    if any(suite.name == "clients" for suite, _ in runs) and (ROOT / "tests/clients/setup.sh").exists():
        waiting.insert(0, Job("client set-up", ("sh", "tests/clients/setup.sh")))
    jars = Job("spark set-up", (sys.executable, "-m", "bench.spark.connector"))
    computing = [one for job in computing for one in ((jars, job) if job.name.startswith("spark,") else (job,))]
    build = Job("build", (sys.executable, "tools/compiled.py", "build"), nice=NICE_BUILD)
    if len(jobs) == 1 and runs[0][1] == INTERPRETED:
        return [run(job) for job in waiting + computing]
    return Lanes([waiting, computing], build if any(way == COMPILED for _, way in runs) else None).run()


def job_of(suite: Suite, way: str, marks: list[str], tests: int) -> Job:
    """One suite with one hot path."""
    workers = ["-n", str(suite.workers)] if suite.workers else ["-p", "no:xdist"]
    if suite.by_file:
        workers += ["--dist", "loadfile"]
    timeout = ["--timeout", str(TEST_TIMEOUT_S)]
    command = (sys.executable, "-m", "pytest", "-q", *workers, *timeout, *marks, suite.path)
    return Job(f"{suite.name}, {way}", command, way, tests, 0 if suite.waits else NICE_COMPUTING)


def count_tests(suites: list[Suite], marks: list[str]) -> Counter[str]:
    """How many tests each suite holds, by asking pytest to collect them."""
    if not suites:
        return Counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *marks, *(suite.path for suite in suites)]
    found = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    return Counter(
        line.split("/")[1] for line in found.stdout.splitlines() if line.startswith("tests/") and "::" in line
    )


def show_plan(checks: list[Check], runs: list[tuple[Suite, str]], counted: Counter[str]) -> None:
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
    waiting = sum(suite.minutes for suite, _ in runs if suite.waits)
    computing = sum(suite.minutes for suite, _ in runs if not suite.waits)
    building = BUILD_MINUTES if any(way == COMPILED for _, way in runs) else 0
    about = minutes(waiting, computing, building) + CHECKS_MINUTES
    total = sum(counted[suite.name] for suite, _ in runs)
    print(f"  in all      {total} tests, about {about:.0f} minutes on two idle cores\n", flush=True)


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
