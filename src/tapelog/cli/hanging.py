"""Hanging transactions: open in a partition's log while no coordinator knows of them, so nothing will ever end them.

Until they are ended, read_committed readers of the partition stop before them. Pure: what was asked goes in, findings
come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, order=True)
class OpenTransaction:
    """A producer with an open transaction in a partition's log. `last_ms` is when it last wrote there (-1: unknown)."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class KnownTransaction:
    """What the coordinator says about a transactional id."""

    transactional_id: str
    state: str
    partitions: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Hanging:
    """An open transaction that no coordinator will end, and why we think so."""

    transaction: OpenTransaction
    why: str


def is_late(transaction: OpenTransaction, now_ms: int, older_ms: int) -> bool:
    """Whether it was last written to so long ago that a coordinator would have ended it."""
    return transaction.last_ms < 0 or now_ms - transaction.last_ms >= older_ms


def find_hanging(transactions: Iterable[OpenTransaction], known: Mapping[int, KnownTransaction]) -> list[Hanging]:
    """Those of which the coordinator (by producer id) knows nothing, or not in this partition."""
    found = []
    for one in sorted(transactions):
        owner = known.get(one.producer_id)
        if owner is None:
            found.append(Hanging(one, "no transactional id has this producer"))
        elif (one.topic, one.partition) not in owner.partitions:
            where = f"`{owner.transactional_id}` ({owner.state})"
            found.append(Hanging(one, f"the transaction of {where} does not include this partition"))
    return found
