"""Whatever happens to three replicas, committed records stay, in order, and in the end all logs are one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.log.log import Log
from tapelog.replication import divergence
from tapelog.replication.divergence import truncation_point
from tapelog.replication.followed import Followed
from tapelog.sim.entropy import SimEntropy
from tests.properties.replica_world import IDS, ReplicaWorld

STEPS = [
    *["produce"] * 8,
    *["pass"] * 10,
    *("kill", "power", "power", "restart", "restart", "restart", "move", "move", "checkpoint", "checkpoint", "loss"),
]


WITHOUT_POWER_CUTS = [name for name in STEPS if name != "power"]


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


def run_seed(seed: int, steps: int, page_cache: bool = False) -> ReplicaWorld:
    """A random walk from a seed, and then peace."""
    world, chance = ReplicaWorld(seed, {"tapelog.flush": "page-cache"} if page_cache else None), SimEntropy(seed + 1)
    names = WITHOUT_POWER_CUTS if page_cache else STEPS
    for _ in range(steps):
        step(world, names[chance.below(len(names))], chance.below(100_000))
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


def test_page_cache_topics_lose_nothing_while_the_power_stays_on() -> None:
    worlds = [run_seed(seed, 120, page_cache=True) for seed in range(10)]
    assert sum(world.divergent_cuts for world in worlds) > 2


# -- the walks notice mistakes


def counts_what_is_written(self: Followed) -> bool:
    """As if the page cache were the disk."""
    return self.partition.log.written_end == self.partition.log.end_offset


def without_epochs(self: Followed) -> tuple[int, int]:
    """Nobody can see that the logs part."""
    return self.partition.log.end_offset, -1


def cuts_too_much(log: Log, epoch: int, end_offset: int) -> int:
    """Two records more than need be."""
    return max(0, truncation_point(log, epoch, end_offset) - 2)


MISTAKES: dict[str, tuple[object, str, object]] = {
    "what is written counts as durable": (Followed, "settled", property(counts_what_is_written)),
    "a follower does not tell its epoch": (Followed, "position", without_epochs),
    "truncation goes too far": (divergence, "truncation_point", cuts_too_much),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, wrong)
    for seed in range(150):
        try:
            run_seed(seed, 150)
        except AssertionError:
            return
    raise AssertionError("nobody noticed")
