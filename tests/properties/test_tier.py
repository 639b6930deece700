"""The tier's manifest and uploader under everything that may happen to them (`tier_world`)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapelog.log.tier import growth, manifest
from tests.properties.tier_world import TierWorld

LONG = "TAPELOG_TIER_SEEDS" in os.environ
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("append", "append", "tick", "tick", "tick", "pass", "pass", "roll", "kill", "change_leader"),
                *("zombie", "zombie", "weather", "delete_records"),
            )
        ),
        st.integers(0, 99),
    ),
    max_size=80,
)


@given(seed=st.integers(0, 2**32), steps=STEPS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_manifest_names_is_whole_and_equals_the_log_whatever_happens(
    seed: int, steps: list[tuple[str, int]]
) -> None:
    world = TierWorld(seed)
    for name, number in steps:
        world.step(name, number)
    world.settle()


@given(seed=st.integers(0, 2**32), steps=STEPS, kind=st.sampled_from(["time", "size"]))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_retention_deletes_from_the_tier_and_leaves_the_rest_whole(
    seed: int, steps: list[tuple[str, int]], kind: str
) -> None:
    world = TierWorld(seed, **({"retention_ms": "20000"} if kind == "time" else {"retention_bytes": "3000"}))
    for name, number in steps:
        world.step(name, number)
    world.settle()


@given(seed=st.integers(0, 2**32), steps=STEPS)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_pages_of_pages_behave_like_one_long_list(seed: int, steps: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "FAN_OUT", 2)
        patch.setattr(manifest, "FAN_OUT", 2)
        world = TierWorld(seed, retention_bytes="6000")
        for name, number in [*[("append", 4), ("tick", 0), ("tick", 0)] * 20, *steps]:
            world.step(name, number)
        world.settle()
        assert world.seen is not None


TIMES = {"get": 1, "put": 4, "upload": 2, "checksum": 2, "list": 2, "delete": 1}
"""How often each happens for certain."""


@pytest.mark.parametrize("after", [False, True])
def test_a_process_killed_at_any_write_of_a_manifest_with_pages_leaves_at_worst_an_orphan(
    after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of two segments and pages of pages are stored between the segment and the head that names them."""
    monkeypatch.setattr(growth, "FAN_OUT", 2)
    monkeypatch.setattr(manifest, "FAN_OUT", 2)
    _killed("put", after, list(range(2, 14)) if LONG else [5, 9], "9000")  # the fifth, eighth and eleventh are pages


@pytest.mark.parametrize("verb", list(TIMES))
@pytest.mark.parametrize("after", [False, True])
def test_a_process_killed_at_any_operation_leaves_at_worst_an_orphan(verb: str, after: bool) -> None:
    """Killed before, or after, the first, second, … operation of each kind, and started again in the same epoch."""
    _killed(verb, after, list(range(1, TIMES[verb] + 1)), "4000")


def _killed(verb: str, after: bool, moments: list[int], retention_bytes: str) -> None:
    for nth in moments:
        world = TierWorld(1, retention_bytes=retention_bytes)
        left = nth

        def fatal(seen: str, name: str, world: TierWorld = world) -> None:
            nonlocal left
            left -= seen == verb
            if left == 0:
                world.leader.store.dead = True

        if after:
            world.leader.store.after = fatal
        else:
            world.leader.store.before = fatal
        for turn in range(50):
            world.append(turn % 3)
            world.tick(0)
            world.clock.advance(500)
            world.timers.run_due()
            world.check()
            if world.leader.store.dead:
                world.leader.kill()
        assert left <= 0, f"there was no {nth}. {verb}"
        world.settle()
