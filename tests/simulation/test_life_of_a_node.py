"""The node core on the simulated disk: power cuts, kills, full and failing disks, from seeds.

TAPELOG_SEEDS sets how many (500 by default); a failing seed is named, and `python -m tapelog.sim --seed N --trace`
repeats it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tapelog.sim.workload import Life

SEEDS = int(os.environ.get("TAPELOG_SEEDS", "500"))
CHUNK = 25
TRACE = "from tapelog.sim.workload import Life; print('\\n'.join(life.trace) if (life := Life({seed})).run() else '')"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_acknowledged_is_lost_repeated_or_reordered(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        life = Life(seed)
        try:
            life.run()
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {broken}; last events: {life.trace[-5:]}") from broken


def test_a_disk_that_only_claims_to_sync_is_found_out() -> None:
    caught = 0
    for seed in range(10):
        try:
            Life(seed, skip_syncs=True).run()
        except Exception:  # what is lost may be a record, the metadata, or the directory's own identity
            caught += 1
    assert caught >= 9


def test_the_faults_that_matter_do_happen() -> None:
    events: dict[str, int] = {}
    for seed in range(20):
        life = Life(seed)
        life.run()
        for name, count in life.events.items():
            events[name] = events.get(name, 0) + count
    for name in ("power cut", "kill", "clean stop", "the disk is almost full", "a sync will fail", "the disk failed"):
        assert events.get(name, 0) > 0, f"{name} never happened: {events}"


def test_a_seed_gives_the_same_trace_under_any_hash_seed() -> None:
    traces = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", TRACE.format(seed=11)]
        traces.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert traces[0] == traces[1]
    assert len(traces[0].splitlines()) > 50
