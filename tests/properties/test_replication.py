"""Whatever happens to three replicas, committed records stay, in order, and in the end all logs are one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.sim.entropy import SimEntropy
from tests.properties.replica_world import IDS, ReplicaWorld

STEPS = [
    *["produce"] * 8,
    *["pass"] * 10,
    *("kill", "power", "power", "restart", "restart", "restart", "move", "move", "checkpoint", "checkpoint", "loss"),
]


def step(world: ReplicaWorld, name: str, number: int) -> None:
    id = IDS[number % 3]
    match name:
        case "produce":
            world.produce(number % 5 + 1)
        case "pass":
            world.pass_time(number % 40)
        case "kill":
            world.crash(id, False)
        case "power":
            world.crash(id, True)
        case "restart":
            world.restart(id)
        case "move":
            world.move_leader(number)
        case "checkpoint":
            world.checkpoint(id)
        case "loss":
            world.loss_percent = (0, 5, 30)[number // 3 % 3]


def run_seed(seed: int, steps: int, configs: dict[str, str] | None = None) -> ReplicaWorld:
    """A random walk from a seed, and then peace."""
    world, chance = ReplicaWorld(seed, configs), SimEntropy(seed + 1)
    for _ in range(steps):
        step(world, STEPS[chance.below(len(STEPS))], chance.below(100_000))
    world.heal()
    return world


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
