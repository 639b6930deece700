"""The test run itself: no suite is forgotten, what is left out is told, and told to fail where all is required."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tidy.rules import ROOT

TESTS = """
import pytest

@pytest.mark.needs("no-such-program")
def test_with_a_tool(): ...

def test_plain(): ...

@pytest.mark.xfail(strict=True)
def test_known_to_fail(): assert False
"""


def run(directory: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """pytest on three small tests, under the conftest of this repository."""
    (directory / "test_three.py").write_text(TESTS)
    (directory / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (directory / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TAPELOG", "PYTEST"))}
    clean |= {"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_timeout", "test_three.py"]
    return subprocess.run(command, cwd=directory, env=clean | env, capture_output=True, text=True, check=False)


def test_a_run_ends_with_what_was_left_out_and_why(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = run(tmp_path, TAPELOG_REPORT=str(report))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 in test_three.py: needs no-such-program, which is not in PATH" in result.stdout
    told = json.loads(report.read_text())
    assert told["counts"] == {"left out": 1, "passed": 1, "expected failure": 1}
    assert told["left_out"] == [[1, "test_three.py", "needs no-such-program, which is not in PATH"]]


def test_where_all_is_required_a_left_out_test_fails_the_run(tmp_path: Path) -> None:
    result = run(tmp_path, TAPELOG_REQUIRE="sh")
    assert result.returncode == 1
    assert "left-out tests fail this run" in result.stdout


def test_a_required_program_that_is_absent_ends_the_run_at_once(tmp_path: Path) -> None:
    result = run(tmp_path, TAPELOG_REQUIRE="sh,no-such-program")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no-such-program: not found in PATH" in result.stderr


@pytest.fixture
def tools() -> Iterator[Any]:
    """The modules of tools/, which are no package."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        yield importlib.import_module
    finally:
        sys.path.pop(0)


def test_there_is_one_figure_for_the_quick_run(tools: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plan, test = tools("plan"), tools("test")
    suites = [suite for suite in plan.SUITES if suite.name in plan.QUICK]
    checks = [check for check in plan.CHECKS if check.quick]
    test.show_plan(checks, [(suite, plan.INTERPRETED) for suite in suites], Counter(unit=6000))
    assert "6000 tests, about 2 minutes on two idle cores" in capsys.readouterr().out
    for name in ("Makefile", "CONTRIBUTING.md"):
        (line,) = [line for line in (ROOT / name).read_text().splitlines() if "int and unit tests" in line]
        assert "two minutes on two idle cores" in line


def test_no_suite_is_forgotten_by_the_plan(tools: Any) -> None:
    plan = tools("plan")
    there = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert there <= {suite.name for suite in plan.SUITES}


@pytest.mark.parametrize(
    ("asked", "words"), [("", ["demo", "--pipeline", "--setup", "tools/setup spark"]), ("no", ["demo"])]
)
def test_make_run_shows_its_view_before_spark_is_there(tmp_path: Path, asked: str, words: list[str]) -> None:
    """The recipe of `make run`, on a machine that says it has Java."""
    (tmp_path / "tools").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, script in (
        ("tools/setup", 'echo "setup $*"'),
        ("tools/preflight", 'echo "preflight $*"'),
        (".venv/bin/tape", 'echo tape "$(printf \'%s|\' "$@")"'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = ["make", "-s", "-f", str(ROOT / "Makefile"), "run", f"SPARK={asked}"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = [line for line in ran.stdout.splitlines() if not line.startswith("preflight")]
    assert said == ["setup runtime", "tape " + "".join(f"{word}|" for word in words)]
