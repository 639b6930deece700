"""Whatever interleaving of transactions, markers, zombies and crashes a log lives through, a read_committed consumer
sees committed transactions whole, aborted ones never, and stops where something is undecided."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.sim.entropy import SimEntropy
from tests.properties.txn_world import TxnWorld

STEPS = [
    *["transact"] * 12,
    *["commit"] * 3,
    *["abort"] * 3,
    *("append", "append", "fence", "again", "stale", "outside", "new_coordinator"),
    *["write"] * 5,
    *["flush"] * 3,
    *["pass"] * 4,
    *["consume"] * 5,
    *("checkpoint", "checkpoint", "truncate", "delete_records", "clean_restart", "kill", "power_cut", "full", "full"),
]


def run_seed(seed: int, steps: int) -> TxnWorld:
    """A random walk from a seed, ended by a power cut and a look at everything."""
    world, chance = TxnWorld(seed), SimEntropy(seed + 1)
    for _ in range(steps):
        world.step(STEPS[chance.below(len(STEPS))], chance.below(100_000))
    world.step("power_cut", 0)
    world.step("consume", 0)
    return world


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 100_000)), max_size=80),
)
def test_a_consumer_sees_committed_transactions_whole_and_nothing_else(seed: int, steps: list[tuple[str, int]]) -> None:
    world = TxnWorld(seed)
    for name, number in steps:
        world.step(name, number)
    world.step("power_cut", 0)
    world.step("consume", 0)


@pytest.mark.parametrize("block", range(4))
def test_long_random_walks(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        run_seed(seed, 300)
