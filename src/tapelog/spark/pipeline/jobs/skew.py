"""Hot keys and partitions over history: what each holds, and advice how to split. Pure; `reports` asks Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tapelog.client.partitioner import partition_for_key

UNEVEN: Final = 1.5
"""The largest partition over the mean: from here on it is worth a word."""
HEAVY: Final = 0.5
"""A key with more than this share of what a partition should hold is worth a word."""
TRIED: Final = (2, 3, 4)
"""Times as many partitions: what they would be like is computed for these."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one partition holds."""

    partition: int
    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key, and what it has of everything; None: records without a key."""

    key: bytes | None
    partition: int
    records: int
    bytes: int


def skew_document(topic: str, held: Sequence[Held], keys: Sequence[HotKey], distinct: int | None) -> dict[str, Any]:
    """Shares, the largest over the mean, heaviest keys, advice."""
    total = sum(one.bytes for one in held)
    mean = total / len(held) if held else 0.0
    return {
        "topic": topic,
        "records": sum(one.records for one in held),
        "bytes": total,
        "distinct_keys": distinct,
        "skew": round(max((one.bytes for one in held), default=0) / mean, 2) if mean else 0.0,
        "partitions": [
            {"partition": one.partition, "records": one.records, "bytes": one.bytes, "share": _share(one.bytes, total)}
            for one in sorted(held, key=lambda one: one.partition)
        ],
        "keys": [
            {
                "key": None if one.key is None else one.key.decode(errors="replace"),
                "partition": one.partition,
                "records": one.records,
                "bytes": one.bytes,
                "share": _share(one.bytes, total),
            }
            for one in keys
        ],
        "advice": advice(held, keys),
    }


def _share(part: int, total: int) -> float:
    return round(part / total, 4) if total else 0.0


def advice(held: Sequence[Held], keys: Sequence[HotKey]) -> list[str]:
    """What to do about it, in sentences."""
    total, count = sum(one.bytes for one in held), len(held)
    if not total or count < 2:
        return []
    fair = total / count
    said = []
    for one in keys:
        if one.key is not None and one.bytes > fair * HEAVY:
            parts = max(2, math.ceil(one.bytes / (fair * HEAVY)))
            name = one.key.decode(errors="replace")
            said.append(
                f"key {name!r} is {one.bytes / total:.1%} of everything, {one.bytes / fair:.1f}× what a partition "
                "should hold: more partitions do not help it; "
                f"write it as {parts} keys ({name}#0 to {name}#{parts - 1}) where its order does not matter"
            )
    largest = max(held, key=lambda one: one.bytes)
    if largest.bytes / fair >= UNEVEN and not said:
        said.append(
            f"partition {largest.partition} has {largest.bytes / fair:.1f}× the mean, and no single key makes it so: "
            + _more_partitions(held, keys, total)
        )
    none = next((one for one in keys if one.key is None), None)
    if none is not None and none.bytes > fair * HEAVY and largest.bytes / fair >= UNEVEN:
        said.append("many records have no key: producers that stick to a partition spread them with a shorter linger")
    return said


def _more_partitions(held: Sequence[Held], keys: Sequence[HotKey], total: int) -> str:
    """Where the heaviest keys would go, the rest spread evenly."""
    named = [one for one in keys if one.key is not None]
    if not named:
        return "look at who writes to it by number"
    rest = total - sum(one.bytes for one in named)
    best = (predicted(named, rest, len(held)), len(held))
    for times in TRIED:
        count = len(held) * times
        best = min(best, (predicted(named, rest, count), count))
    if best[1] == len(held):
        return "more partitions would not spread the heaviest keys better"
    return f"with {best[1]} partitions the largest would have about {best[0]:.1f}× the mean"


def predicted(keys: Sequence[HotKey], rest: int, count: int) -> float:
    """The largest partition over the mean if there were so many, as Kafka's clients place keys."""
    loads = [rest / count] * count
    for one in keys:
        assert one.key is not None
        loads[partition_for_key(one.key, count)] += one.bytes
    mean = sum(loads) / count
    return max(loads) / mean if mean else 0.0
