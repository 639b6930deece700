"""The failover bench: its table, and that it goes on where an earlier run was."""

from __future__ import annotations

import json
from pathlib import Path

from bench.cluster import failover


def test_the_table_has_median_ninetieth_percentile_and_worst() -> None:
    times = [float(number) for number in range(1, 51)]
    lines = failover.table({"kill -9, leader": {"tapelog": times, "kafka": [2.0]}}).splitlines()
    assert lines[2:] == [
        "| kill -9, leader | tapelog | 50 | 25.50 | 45.00 | 50.00 |",
        "| kill -9, leader | kafka | 1 | 2.00 | 2.00 | 2.00 |",
    ]


def test_a_run_that_is_started_again_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    assert failover._before(path) == {}
    path.write_text(json.dumps({"settings": {}, "client": {}, "results": {"k": {"tapelog": [1.5]}}}))
    assert failover._before(path) == {"k": {"tapelog": [1.5]}}


def test_every_kind_gets_its_faults_and_kills_come_first() -> None:
    plan = failover.plan(["kill", "SIGSTOP"], 5)
    assert sorted(plan) == sorted((kind, number) for kind in ("kill", "SIGSTOP") for number in range(1, 6))
    assert [number for kind, number in plan if kind == "SIGSTOP"] == [1, 2, 3, 4, 5]
    assert plan[:3] == [("kill", 1), ("kill", 2), ("SIGSTOP", 1)]
    assert sorted(failover.plan(["SIGSTOP"], 3)) == [("SIGSTOP", 1), ("SIGSTOP", 2), ("SIGSTOP", 3)]
