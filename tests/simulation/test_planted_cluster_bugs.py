"""The cluster's seeds notice what is wrong: each planted bug is caught, by the seeds known for it or by one of 500.

A change of the product gives every seed another life: whoever finds that the known seeds catch nothing any more looks
for others (they are tried first only because that is quick).
"""

from __future__ import annotations

import pytest

from tapelog.sim.lives import live
from tests.simulation.cluster_bugs import PLANTS

SEEDS_MAX = 500
KNOWN: dict[str, tuple[int, ...]] = {
    "ack_before_replication": (1,),
    "anybody_enters_the_isr": (2,),
    "below_min_isr_commits": (2,),
    "disk_that_does_not_sync": (1,),
    "end_told_too_early": (0,),
    "follower_before_fsync": (1,),
    "followers_forget_producers": (1,),
    "forgotten_truncation": (15, 18),
    "given_before_given_back": (3,),
    "high_watermark_goes_back": (1,),
    "isr_never_shrinks": (5, 0),
    "marker_lost_on_failover": (6, 15),
    "shrink_counts_at_once": (11, 1),
    "stale_leader_serves": (3,),
    "unclean_leader": (0,),
}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_planted_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    others = (seed for seed in range(SEEDS_MAX) if seed not in KNOWN[name])
    caught = any(live(True, seed).broken for seed in (*KNOWN[name], *others))
    assert caught, f"{name}: {PLANTS[name].__doc__} Nobody noticed in {SEEDS_MAX} lives"
