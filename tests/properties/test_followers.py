"""Whatever happens to three replicas, committed records stay, in order, and in the end all logs are one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.replica_walks import STEPS, run_seed, step
from tests.properties.replica_world import ReplicaWorld


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 100_000)), max_size=60),
)
def test_nothing_committed_is_lost_and_logs_become_one(seed: int, steps: list[tuple[str, int]]) -> None:
    world = ReplicaWorld(seed)
    for name, number in steps:
        step(world, name, number)
    world.heal()


@pytest.mark.parametrize("block", range(4))
def test_long_random_walks_lose_nothing(block: int) -> None:
    worlds = [run_seed(seed, 150) for seed in range(block * 10, block * 10 + 10)]
    assert sum(world.divergent_cuts for world in worlds) > 5, "logs hardly ever parted"


def test_page_cache_topics_lose_nothing_while_the_power_stays_on() -> None:
    worlds = [run_seed(seed, 120, page_cache=True) for seed in range(10)]
    assert sum(world.divergent_cuts for world in worlds) > 2
