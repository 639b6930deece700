"""Ranges into tasks: where the slots are known, each gets a like share of the bytes.

A task has a price of its own, which is why there are few: between two of them a slot stands still for a hundredth of a
second (Spark's scheduler, the hand-over to Python), and each looks up what it reads. So a task reads several ranges
where they are small, and a large range is cut where slots would have nothing to do. Tasks cover the ranges exactly, in
their order.

Not for streams and `repeatable` batches: there the cuts are a function of start and end alone, since a sink tells a
repetition by its tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from tapelog.spark.plan.rate import weights_of
from tapelog.spark.plan.split import PIECE_BYTES_MIN, RANGES_MAX, split
from tapelog.spark.plan.values import Range, TopicPartition, Weights

Task: TypeAlias = tuple[Range, ...]
"""What one task reads, one range after the other."""

TASK_BYTES_MAX: Final = 640 * 1024 * 1024
"""As they lie in the log; compressed ones are several times as many rows, which have to fit into Spark's memory."""

RANGE_BYTES: Final = 1 << 20
"""What a range costs beside its bytes, in bytes: it is looked up and asked for by itself."""

_SNAP: Final = 0.1
"""A cut that would come this close to the end of a range, as a part of a task, is made there."""


def tasks(ranges: Sequence[Range], weights: Weights, slots: int | None) -> tuple[Task, ...]:
    """Which task reads what. Without slots, or weights (no broker tells sizes), tasks are those of `split`."""
    if slots is None or not weights:
        return tuple((one,) for one in split(ranges, weights=weights))
    costs = _costs(ranges, weights)
    return tuple(_shared_out(ranges, costs, _count(len(ranges), math.fsum(costs), slots)))


def tasks_beside_stored(pieces: Sequence[Range], weights: Weights, slots: int | None) -> tuple[Task, ...]:
    """The same where some pieces lie in storage, cut already: those are a task each.

    What is fetched of their partitions is not put together with others: a task that held the tails of several would
    come before the history of some of them. Each partition's offsets come in order, task by task.
    """
    stored = {piece.of for piece in pieces if piece.history is not None}
    fetched = [piece for piece in pieces if piece.history is None]
    alone = [piece for piece in pieces if piece.history is not None]
    alone += split([piece for piece in fetched if piece.of in stored], weights=weights)
    rest = [piece for piece in fetched if piece.of not in stored]
    return tuple(sorted([*((piece,) for piece in alone), *(tasks(rest, weights, slots) if rest else ())]))


def _count(ranges: int, total: float, slots: int) -> int:
    """How many tasks: rounds of all slots, fewer where too little would be in them, but not for lack of ranges."""
    rounds = max(1, math.ceil(total / slots / TASK_BYTES_MAX))
    worth = max(int(total / PIECE_BYTES_MIN), min(ranges, slots))
    return max(1, min(slots * rounds, worth, RANGES_MAX))


def _costs(ranges: Sequence[Range], weights: Weights) -> list[float]:
    weight = weights_of({one.of: one.until for one in ranges}, weights)
    return [RANGE_BYTES + one.size * weight[TopicPartition(*one.of)] for one in ranges]


def _shared_out(ranges: Sequence[Range], costs: Sequence[float], count: int) -> Iterator[Task]:
    """All ranges laid end to end and cut into `count` parts of like cost, or into fewer where offsets are few."""
    share = math.fsum(costs) / count
    out: list[list[Range]] = [[]]
    given = 0.0
    for whole, cost in zip(ranges, costs, strict=True):
        per_offset, start = cost / whole.size, whole.start
        while start < whole.until:
            span = whole.until - start
            if len(out) < count:
                span = _fitting(span, per_offset, len(out) * share - given, _SNAP * share)
            if span:
                out[-1].append(_part(whole, start, start + span))
                start, given = start + span, given + span * per_offset
            else:
                out.append([])
    return (tuple(task) for task in out if task)


def _fitting(span: int, per_offset: float, room: float, little: float) -> int:
    """How many of the next offsets a task with this much room takes: all, none, or some if both parts are worth it."""
    left = span * per_offset
    if left > room + little and min(room, left - room) >= max(PIECE_BYTES_MIN, little):
        return int(room / per_offset)
    return span if room >= left / 2 else 0


def _part(whole: Range, start: int, until: int) -> Range:
    return whole if (start, until) == (whole.start, whole.until) else Range(whole.topic, whole.partition, start, until)
