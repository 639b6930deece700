"""Whatever history of keys, tombstones, transactions, restarts and crashes a compacted log lives through: what stays of
it is what the rules say, at the offsets it had, and a consumer builds the same table from it at any moment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.sim.entropy import SimEntropy
from tests.properties.compaction_model import ABORTED
from tests.properties.compaction_world import RETENTION_MS, CompactionWorld

STEPS = [
    *["append"] * 10,
    *["transact"] * 6,
    *["end"] * 4,
    *["pass"] * 4,
    *["checkpoint"] * 4,
    *["clean"] * 3,
    *["crash"] * 2,
    *("roll", "roll", "kill", "power_cut", "forget", "expire", "delete_records", "read", "read"),
]


def run_seed(seed: int, steps: int) -> CompactionWorld:
    """A random walk from a seed."""
    world, chance = CompactionWorld(seed), SimEntropy(seed + 1)
    for _ in range(steps):
        world.step(STEPS[chance.below(len(STEPS))], chance.below(100_000))
    return world


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(0, 12),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 100_000)), min_size=5, max_size=80),
)
def test_any_history_leaves_what_the_rules_say(seed: int, size: int, steps: list[tuple[str, int]]) -> None:
    world = filled(seed, size)
    for name, number in steps:
        world.step(name, number)


@pytest.mark.parametrize("block", range(4))
def test_long_random_walks_keep_the_table(block: int) -> None:
    cleanings = crashes = 0
    for seed in range(block * 5, block * 5 + 5):
        world = run_seed(seed, 250)
        cleanings += world.cleanings
        crashes += world.crashes
    assert cleanings > 20, cleanings
    assert crashes > 5, crashes


@pytest.mark.parametrize("cause", ["kill", "power cut"])
def test_a_crash_before_any_disk_operation_leaves_the_log_before_or_after(cause: str) -> None:
    operation = crashed = 0
    while crashed == operation:
        world = filled(7 + operation, 25)
        world.crash_before(operation, 12, world.disk.kill if cause == "kill" else world.disk.crash)
        world.check()
        crashed += world.crashes
        operation += 1
    assert operation > 40, operation


def filled(seed: int, count: int) -> CompactionWorld:
    """Batches of all sorts, all of them cleanable, the transactions ended."""
    world = CompactionWorld(seed)
    for number in range(count):
        world.append(number)
        world.transact(number)
        if number % 4 == 3:
            world.end(number // 4)
            world.end(number // 4 + 1)
    world.end(0)
    world.end(1)
    world.log.roll()
    world.append(0)
    world.checkpoint()
    return world


def test_after_its_time_nothing_is_left_of_tombstones_markers_and_aborted_records() -> None:
    world = filled(3, 40)
    end = world.log.end_offset
    for _ in range(4):
        world.step("clean", 2 * 7 - 1)
        world.clock.advance(2 * RETENTION_MS)
        world.log.expire_producers(world.clock.wall_ms(), RETENTION_MS)
        world.step("append", 0)
        world.step("roll", 0)
        world.step("checkpoint", 0)
    old = [batch for batch in world.model if batch.last < end and batch.entries]
    data = [batch for batch in old if not batch.marker]
    entries = [entry for batch in data for entry in batch.entries]
    assert entries
    assert all(entry.value is not None for entry in entries)
    assert len({entry.key for entry in entries}) == len(entries)
    left = {batch.transaction for batch in data}
    assert all(world.outcomes.get(transaction) != ABORTED for transaction in left)
    assert all(batch.transaction in left for batch in old if batch.marker)
