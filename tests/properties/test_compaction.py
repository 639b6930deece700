"""Whatever history of keys, tombstones, transactions, restarts and crashes a compacted log lives through: what stays of
it is what the rules say, at the offsets it had, and a consumer builds the same table from it at any moment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.sim.entropy import SimEntropy
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
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 100_000)), max_size=80),
)
def test_any_history_leaves_what_the_rules_say(seed: int, steps: list[tuple[str, int]]) -> None:
    world = CompactionWorld(seed)
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
    operation = 0
    while True:
        world = CompactionWorld(7)
        fill(world, 60)
        number = operation * 7 + (cause != "kill") if (operation * 7) % 2 == 0 else operation * 7 + (cause == "kill")
        before = world.crashes
        world.step("crash", number)
        if world.crashes == before:
            break
        operation += 1
    assert operation > 20, operation


def fill(world: CompactionWorld, count: int) -> None:
    """Batches of all sorts, all of them cleanable, the transactions ended."""
    for number in range(count):
        world.step("append", number)
        world.step("transact", number)
        if number % 4 == 3:
            world.step("end", number // 4)
            world.step("end", number // 4 + 1)
    for number in (0, 1):
        world.step("end", number)
    world.step("roll", 0)
    world.step("append", 0)
    world.step("checkpoint", 0)


def test_after_its_time_nothing_is_left_of_tombstones_markers_and_aborted_records() -> None:
    world = CompactionWorld(3)
    fill(world, 40)
    for _ in range(4):
        world.step("clean", 2 * 7 - 1)
        world.clock.advance(2 * RETENTION_MS)
        world.log.expire_producers(world.clock.wall_ms(), RETENTION_MS)
        world.step("append", 0)
        world.step("roll", 0)
        world.step("checkpoint", 0)
    limit = world.cleaned_to
    assert limit is not None
    old = [batch for batch in world.model if batch.last < world.log.segments.items[1].base_offset and batch.entries]
    assert not [batch for batch in old if batch.marker]
    assert not [entry for batch in old for entry in batch.entries if entry.value is None]
    keys = [entry.key for batch in old for entry in batch.entries]
    assert len(keys) == len(set(keys))
