"""Whatever happens to a log — and then the power goes — what was declared durable is there, in order, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.sim.entropy import SimEntropy
from tests.properties.log_world import LogWorld

OFTEN = ["append"] * 8 + ["write"] * 4 + ["flush"] * 3 + ["pass"] * 4
STEPS = [
    *OFTEN,
    *("retry", "retry", "marker", "checkpoint", "checkpoint", "truncate", "truncate", "start_anew", "delete_records"),
    *("clean_restart", "kill", "kill", "power_cut", "power_cut", "full", "read", "read", "read", "seek", "seek"),
]


def run_seed(seed: int, steps: int, *, skips_syncs: bool = False) -> LogWorld:
    """A random walk from a seed, ended by a power cut."""
    world, chance = LogWorld(seed), SimEntropy(seed + 1)
    world.disk.skips_syncs = skips_syncs
    for _ in range(steps):
        world.step(STEPS[chance.below(len(STEPS))], chance.below(100_000))
    world.step("power_cut", 0)
    return world


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 100_000)), max_size=80),
)
def test_what_was_declared_durable_survives_any_history(seed: int, steps: list[tuple[str, int]]) -> None:
    world = LogWorld(seed)
    for name, number in steps:
        world.step(name, number)
    world.step("power_cut", 0)


@pytest.mark.parametrize("block", range(4))
def test_long_random_walks_lose_nothing(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        run_seed(seed, 400)


def test_a_disk_that_only_claims_to_sync_is_found_out() -> None:
    """The planted bug: were fsync skipped, these walks would have to fail."""
    caught = 0
    for seed in range(10):
        try:
            run_seed(seed, 200, skips_syncs=True)
        except (AssertionError, FileNotFoundError, ValueError):
            caught += 1
    assert caught >= 9, f"only {caught} of 10 walks noticed"


TRACE = """
import hashlib
from tests.properties.test_log_crashes import run_seed
world = run_seed(7, 300)
print(hashlib.sha256("\\n".join(world.disk.trace).encode()).hexdigest())
"""


def test_a_seed_gives_the_same_trace_under_any_hash_seed() -> None:
    root = Path(__file__).parents[2]
    traces = set()
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{root}/src:{root}"}
        done = subprocess.run(
            [sys.executable, "-c", TRACE], env=environment, cwd=root, capture_output=True, text=True, check=True
        )
        traces.add(done.stdout)
    assert len(traces) == 1
