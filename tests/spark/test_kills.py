"""The kill harness in its short form, on local Spark, and proof that it can fail. The long one: tests/spark/kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

from tests.spark.kills.accounts import compared, number_of
from tests.spark.kills.moments import phase_of

ROOT = Path(__file__).resolve().parents[2]


def killed(tmp_path: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """The harness in a process of its own: its exit code and what it tells."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.kills", "--executors", "0", "--report", str(report), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return done.returncode, json.loads(report.read_text())


@pytest.mark.timeout(600)
def test_every_row_is_there_once_though_driver_and_task_are_killed(tmp_path: Path) -> None:
    code, told = killed(tmp_path, "--victims", "driver,task", "--in-turn", "--rounds", "2", "--moments", "write")
    assert (code, told["missing"], told["twice"], told["strange"], told["hidden"]) == (0, 0, 0, 0, 0), told
    assert told["killed"] == {"driver": 1, "task": 1} and told["fed"] == told["seen"] > 0


@pytest.mark.timeout(600)
def test_a_sink_that_writes_at_least_once_fails(tmp_path: Path) -> None:
    code, told = killed(
        tmp_path, "--victims", "driver", "--rounds", "1", "--moments", "show", "--delivery", "atLeastOnce"
    )
    assert code == 1 and told["twice"] > 0, told
    assert told["missing"] == told["strange"] == 0


@pytest.mark.parametrize(
    ("came_out", "missing", "twice", "strange"),
    [
        ([2, 0, 1], 0, 0, 0),
        ([0, 2], 1, 0, 0),
        ([0, 1, 2, 1, 1], 0, 1, 0),
        ([0, 1, 2, 3], 0, 0, 1),
        ([0, 1, 2, None, None], 0, 0, 2),
        ([], 3, 0, 0),
    ],
)
def test_what_is_missing_twice_or_strange_is_told(
    came_out: list[int | None], missing: int, twice: int, strange: int
) -> None:
    told = compared(3, came_out)
    assert (told["missing"], told["twice"], told["strange"]) == (missing, twice, strange)


def test_a_row_with_the_key_of_another_stands_for_no_number() -> None:
    assert number_of(b"k7", b"out-7") == number_of("k7", "out-7") == 7
    assert number_of(b"k8", b"out-7") is number_of(None, b"out-7") is number_of(b"k", b"out-") is None


@pytest.mark.parametrize(
    ("there", "visible", "phase"),
    [
        (set(), set(), "planned"),
        ({1}, set(), "writing"),
        ({1, 2, 9}, set(), "written"),
        ({2}, {1}, "showing"),
        (set(), {1, 2, 3}, "shown"),
    ],
)
def test_the_phase_of_a_batch_is_told_by_where_its_rows_are(there: set[int], visible: set[int], phase: str) -> None:
    assert phase_of({1, 2}, frozenset(there), frozenset(visible)) == phase
    assert phase_of(set(), frozenset(there), frozenset(visible)) == "between"
