"""Which leaders to move so that brokers carry the same load: a pure planner for `tape rebalance --by load`.

Only the order of replicas changes, so nothing is copied: the new first replica leads, and stays the preferred leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tapelog.cli.rebalance_plan import Move, Replicas

WORTH = 0.02
"""A change that lowers the busiest broker by less than this share of the mean is left out."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A partition with its leader, its replicas, and what its leader has to do for it."""

    topic: str
    index: int
    leader: int
    replicas: Replicas
    in_sync: Replicas
    load: float


def plan_leaders(brokers: Sequence[int], partitions: Iterable[Loaded]) -> list[Move]:
    """Reorderings that take load from the busiest brokers, in order of topic and partition."""
    load = dict.fromkeys(sorted(brokers), 0.0)
    loaded = sorted(partitions, key=lambda one: (one.topic, one.index))
    leads = {(one.topic, one.index): one.leader for one in loaded}
    for one in loaded:
        if one.leader in load:
            load[one.leader] += one.load
    mean = sum(load.values()) / len(load) if load else 0.0
    for _ in range(len(loaded)):
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
    return moves


def _best_step(
    load: Mapping[int, float], leads: Mapping[tuple[str, int], int], loaded: Sequence[Loaded], mean: float
) -> tuple[Loaded, int] | None:
    """The one change of leader that leaves the busier of its two brokers least busy."""
    busiest = max(load, key=lambda broker: (load[broker], -broker), default=None)
    if busiest is None:
        return None
    best: tuple[float, Loaded, int] | None = None
    for one in loaded:
        if leads[one.topic, one.index] != busiest or one.load <= 0:
            continue
        for target in one.replicas:
            if target == busiest or target not in load or target not in one.in_sync:
                continue
            after = max(load[busiest] - one.load, load[target] + one.load)
            if load[busiest] - after > WORTH * mean and (best is None or after < best[0]):
                best = after, one, target
    return None if best is None else (best[1], best[2])
