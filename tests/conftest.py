"""What every suite shares: outside tools, what was left out and why, and which hot path is being tested.

Examples of hypothesis are the same in every run, and may take as long as they take: on a busy machine nothing is wrong
with one that took 0.2 s. `--hypothesis-profile new` looks for others.

`@pytest.mark.needs("java")` leaves a test out where the tool is absent. With TAPELOG_REQUIRE set (a comma-separated
list of tools; `.ci/run` sets it) nothing may be left out: every skipped test fails the run.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

import tapelog

with contextlib.suppress(ImportError):  # a Spark of another version is tested without it
    from hypothesis import HealthCheck, settings

    settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("same", settings.get_profile("new"), derandomize=True)
    settings.load_profile("same")

HOT = {
    "yes": "compiled",
    "no": "interpreted",
    "off": "interpreted",
    "stale": "interpreted (compiled modules are stale)",
}
REQUIRED = frozenset(name.strip() for name in os.environ.get("TAPELOG_REQUIRE", "").split(",") if name.strip())

_left_out: Counter[tuple[str, str]] = Counter()
_outcomes: Counter[str] = Counter()


def pytest_report_header() -> str:
    """Which hot path is under test."""
    return f"hot path: {HOT[tapelog.COMPILED]}"


def pytest_configure(config: pytest.Config) -> None:
    """A required tool that is absent ends the run before it begins, naming it."""
    absent = sorted(name for name in REQUIRED if shutil.which(name) is None)
    if absent:
        raise pytest.UsageError(f"TAPELOG_REQUIRE asks for {', '.join(absent)}: not found in PATH")


def where(program: str) -> str | None:
    """Its path. Debian keeps PostgreSQL's programs outside PATH."""
    return shutil.which(program) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{program}"))), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what needs a tool that is not here."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if where(name) is None:
                pytest.skip(f"needs {name}, which is not in PATH")


def _skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr or "no reason given")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count outcomes, and skipped tests by file and reason (runs in the controller, also with xdist)."""
    expected = hasattr(report, "wasxfail")
    if report.when == "call" or report.outcome != "passed":
        _outcomes["expected failure" if expected else "left out" if report.skipped else report.outcome] += 1
    if report.skipped and not expected:
        _left_out[report.nodeid.partition("::")[0], _skip_reason(report)] += 1


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A module that skips itself as a whole counts too."""
    if report.skipped:
        _left_out[report.nodeid, _skip_reason(report)] += 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything is required, a left-out test is a failure."""
    if REQUIRED and _left_out and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    file = os.environ.get("TAPELOG_REPORT")
    if file and not hasattr(session.config, "workerinput"):
        left_out = [(count, path, reason) for (path, reason), count in sorted(_left_out.items())]
        Path(file).write_text(json.dumps({"counts": _outcomes, "left_out": left_out}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out and why."""
    if not _left_out:
        return
    terminalreporter.section("left out", sep="-", yellow=not REQUIRED, red=bool(REQUIRED))
    for (path, reason), count in sorted(_left_out.items()):
        terminalreporter.line(f"{count:4d} in {path}: {reason}")
    if REQUIRED:
        terminalreporter.line(f"TAPELOG_REQUIRE={','.join(sorted(REQUIRED))}: left-out tests fail this run", red=True)
