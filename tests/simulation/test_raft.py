"""The quorum from seeds: see raft_world. TAPELOG_RAFT_SEEDS sets how many."""

from __future__ import annotations

import os

import pytest

from tests.simulation.raft_life import Life

SEEDS = int(os.environ.get("TAPELOG_RAFT_SEEDS", "420"))
CHUNK = 70


def live(seed: int) -> Life:
    life = Life(seed)
    try:
        life.live()
    except AssertionError as broken:
        raise AssertionError(f"seed {seed}: {broken}; last events: {life.trace[-6:]}") from broken
    return life


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_committed_is_lost_and_the_quorum_recovers(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        live(seed)
