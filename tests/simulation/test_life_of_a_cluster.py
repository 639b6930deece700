"""Whole clusters in simulation, from seeds: replication, failover, transactions, every kind of fault.

TAPELOG_CLUSTER_SEEDS sets how many (300 by default); a failing seed is named, and `make sim SEED=N` repeats it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tapelog.sim.lives import live

SEEDS = int(os.environ.get("TAPELOG_CLUSTER_SEEDS", "300"))
CHUNK = 10
RARE = (
    "ISR shrinks to one",
    "another active controller",
    "bit rot",
    "controlled shutdown",
    "coordinator failover mid-transaction",
    "divergent truncation",
    "fsync error",
    "full disk",
    "leader from the eligible replicas",
    "lost rename",
    "partition without leader",
    "pre-vote rejected",
    "producer-epoch overflow",
    "reassignment ends",
    "record read from a follower",
    "records deleted",
    "snapshot fetch",
    "unclean start",
    "vote rejected",
    "voter replaced",
    "wiped disk",
    "zombie leader",
)
TRACE = "from tapelog.sim.lives import live; l = live(True, {seed}); print(*l.trace, l.virtual_ms, l.events, sep='\\n')"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_cluster_keeps_its_promises(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        lived = live(True, seed)
        assert not lived.broken, f"seed {seed}: {lived.broken}; last events: {lived.trace[-8:]}"


@pytest.mark.timeout(0)
def test_what_happens_seldom_does_happen() -> None:
    missing = dict.fromkeys(RARE)
    for seed in range(12, 300):  # forty or so, mostly
        for name in live(True, seed).events:
            missing.pop(name, None)
        if not missing:
            return
    raise AssertionError(f"never happened: {list(missing)}")


def test_a_seed_gives_the_same_trace_under_any_hash_seed() -> None:
    traces = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", TRACE.format(seed=4)]
        traces.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert traces[0] == traces[1]
    assert len(traces[0].splitlines()) > 50
