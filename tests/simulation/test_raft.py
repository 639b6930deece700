"""The quorum from seeds: see raft_world. TAPELOG_RAFT_SEEDS sets how many."""

from __future__ import annotations

import os

import pytest

from tests.simulation.raft_life import Life
from tests.support.hash_seeds import told_under_two_hash_seeds

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


def test_what_matters_does_happen() -> None:
    events: dict[str, int] = {}
    for seed in range(40):
        for name, count in live(seed).events.items():
            events[name] = events.get(name, 0) + count
    rare = ("snapshot installed", "voter added", "voter removed", "wiped disk", "crash after a vote", "full disk")
    for name in ("crash", "all crash", "clean stop", "pause", "split", "deaf", "mute", "slow disk", *rare):
        assert events.get(name, 0) > 0, f"{name} never happened: {events}"


def test_a_seed_tells_the_same_history_under_any_hash_seed() -> None:
    first, second = told_under_two_hash_seeds("tests.simulation.raft_life", 9)
    assert first == second and "leads epoch" in first
