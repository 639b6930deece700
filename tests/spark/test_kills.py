"""The kill harness in its short form: a driver and its tasks die, on local Spark. The long one: tests/spark/kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--executors", "0", "--rounds", "3", "--victims", "driver,task", "--rate", "100", "--seed", "3"]


@pytest.mark.timeout(400)
def test_every_row_is_there_once_though_driver_and_tasks_are_killed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.kills", *SHORT, "--report", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=390,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = json.loads(report.read_text())
    assert told["killed"].get("driver") and told["fed"] == told["seen"] > 0
