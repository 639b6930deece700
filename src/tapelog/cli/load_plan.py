"""Which leaders to move so that brokers carry the same load: a pure planner for `tape rebalance --by load`.

Only the order of replicas changes, so nothing is copied: the new first replica leads, and stays the preferred leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tapelog.cli.rebalance_plan import Move, Replicas

WORTH = 0.02
"""A change that lowers the busier of two brokers by less than this share of the mean is left out."""
STEPS_MAX_PER_PARTITION = 4
"""A bound on the search, which ends by itself: every step evens out."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A partition with its leader, its replicas, and what its leader has to do for it."""

    topic: str
    index: int
    leader: int
    replicas: Replicas
    in_sync: Replicas
    load: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Reorderings in order of topic and partition, and what each broker carries before and after."""

    moves: list[Move]
    before: dict[int, float]
    after: dict[int, float]


def plan_leaders(
    brokers: Sequence[int], partitions: Iterable[Loaded], beside: Mapping[int, float] | None = None
) -> Plan:
    """Take load from the busiest brokers. `beside`: what they carry whoever leads."""
    load = {broker: (beside or {}).get(broker, 0.0) for broker in sorted(brokers)}
    loaded = sorted(partitions, key=lambda one: (one.topic, one.index))
    leads = {(one.topic, one.index): one.leader for one in loaded}
    for one in loaded:
        if one.leader in load:
            load[one.leader] += one.load
    mean, before = sum(load.values()) / len(load) if load else 0.0, dict(load)
    for _ in range(STEPS_MAX_PER_PARTITION * len(loaded)):
        step = _best_step(load, leads, loaded, mean)
        if step is None:
            break
        one, target = step
        load[leads[one.topic, one.index]] -= one.load
        load[target] += one.load
        leads[one.topic, one.index] = target
    moves = []
    for one in loaded:
        chosen = leads[one.topic, one.index]
        if chosen != one.leader:
            after = (chosen, *(replica for replica in one.replicas if replica != chosen))
            moves.append(Move(one.topic, one.index, one.replicas, after, 0))
    return Plan(moves, before, load)


def _best_step(
    load: Mapping[int, float], leads: Mapping[tuple[str, int], int], loaded: Sequence[Loaded], mean: float
) -> tuple[Loaded, int] | None:
    """The change of leader that leaves the busier of its two brokers least busy; from the busiest broker that can give
    anything away at all: beside one that a single partition keeps busy, the others are evened out, too."""
    for source in sorted(load, key=lambda broker: (-load[broker], broker)):
        best: tuple[float, Loaded, int] | None = None
        for one in loaded:
            if leads[one.topic, one.index] != source or one.load <= 0:
                continue
            for target in one.replicas:
                if target == source or target not in load or target not in one.in_sync:
                    continue
                after = max(load[source] - one.load, load[target] + one.load)
                if load[source] - after > WORTH * mean and (best is None or after < best[0]):
                    best = after, one, target
        if best is not None:
            return best[1], best[2]
    return None
