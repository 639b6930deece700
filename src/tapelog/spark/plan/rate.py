"""How much of what is there a trigger takes: Spark's proportional limit, the same by bytes, and when to wait for more.

`start` and `available` name where partitions stand and end; a partition that is new has been given its beginning in
`start` before. The arithmetic on offsets is that of Spark's Kafka source, in double precision and with its rounding, so
that a query takes the same batches with either source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from tapelog.spark.plan.values import Offsets, TopicPartition, Weights, ordered

WEIGHT_UNKNOWN: Final = 1024.0
"""Bytes of a record of which nobody knows anything yet."""


def limit_offsets(limit: int, start: Offsets, available: Offsets) -> dict[TopicPartition, int]:
    """Where to end so that about `limit` offsets are read, partitions sharing it in proportion to what they have.

    A share below one is rounded up, so that small partitions are not starved, any other down. A partition without a
    start keeps its end: whoever plans the ranges reports it.
    """
    sizes = _sizes(start, available)
    total = float(sum(sizes.values()))
    if total < 1:
        return ordered(available)
    ends = dict(available)
    for partition, size in sizes.items():
        share = limit * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        ends[partition] = min(available[partition], start[partition] + taken)
    return ordered(ends)


def limit_bytes(limit: int, start: Offsets, available: Offsets, weights: Weights) -> dict[TopicPartition, int]:
    """Where to end so that about `limit` bytes are read: shared in proportion to bytes, at least one offset each."""
    sizes = _sizes(start, available)
    weight = weights_of(sizes, weights)
    total = math.fsum(size * weight[partition] for partition, size in sizes.items())
    if total <= limit:
        return ordered(available)
    ends = dict(available)
    for partition, size in sizes.items():
        taken = max(1, math.floor(size * (limit / total)))
        ends[partition] = min(available[partition], start[partition] + taken)
    return ordered(ends)


def weights_of(partitions: Offsets, known: Weights) -> dict[TopicPartition, float]:
    """Bytes per offset for each of the partitions; the unknown ones are as heavy as the known ones on average."""
    found = {partition: known[partition] for partition in partitions if known.get(partition, 0.0) > 0.0}
    usual = math.fsum(found.values()) / len(found) if found else WEIGHT_UNKNOWN
    return {partition: found.get(partition, usual) for partition in partitions}


def waiting(start: Offsets, available: Offsets) -> int:
    """How many offsets there are to read."""
    return sum(_sizes(start, available).values())


@dataclass(frozen=True, slots=True)
class Pace:
    """What minOffsetsPerTrigger remembers: when a batch was last let through. The first one always is."""

    last_trigger_ms: int = 0

    def after(self, now_ms: int, there: int, *, at_least: int, delay_ms_max: int) -> Pace | None:
        """The pace after letting a batch through now, or None when it is to wait for more."""
        if now_ms - self.last_trigger_ms < delay_ms_max and there < at_least:
            return None
        return Pace(now_ms)


def _sizes(start: Offsets, available: Offsets) -> dict[TopicPartition, int]:
    return {
        partition: end - start[partition]
        for partition, end in ordered(available).items()
        if partition in start and end > start[partition]
    }
