"""Predicates on topic, partition, offset and timestamp become narrower ranges; a row that passes is never lost.

A filter is (column, operator, value). On topic and partition, and where offsets are compared, the result is exact, and
Spark need not look again. A timestamp bound from below is asked of the broker, which knows the first offset as young
as that: all before are older. From above nothing is cut: timestamps need not be in order, and Spark filters what is
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tapelog.spark.plan.values import OFFSET_MAX, Range, TopicPartition
from tapelog.spark.plan.view import Isolation, View

Operator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "in"]
Value: TypeAlias = int | str
MICROS: Final = 1000
"""Timestamps in filters are microseconds, as Spark's are; in records they are milliseconds."""


@dataclass(frozen=True, slots=True)
class Filter:
    """`column operator value`; for `in`, the values are a tuple. A timestamp is in microseconds since 1970."""

    column: str
    operator: Operator
    value: Value | tuple[Value, ...]


def exact(item: Filter) -> bool:
    """Whether ranges honour this filter to the row, so that nobody need apply it again."""
    return _usable(item) and not (item.column == "offset" and item.operator == "in")


def _usable(item: Filter) -> bool:
    """Whether the filter is one on topic, partition or offset, with a value of the column's type."""
    wanted = str if item.column == "topic" else int
    if item.column not in ("topic", "partition", "offset") or (wanted is str and item.operator not in ("=", "in")):
        return False
    return all(isinstance(value, wanted) and not isinstance(value, bool) for value in _values(item))


def keeps(filters: Iterable[Filter], of: TopicPartition) -> bool:
    """Whether rows of this partition can pass."""
    return all(
        _passes(item, of.topic if item.column == "topic" else of.partition)
        for item in filters
        if _usable(item) and item.column in ("topic", "partition")
    )


def narrow(
    ranges: Sequence[Range],
    filters: Sequence[Filter],
    view: View | None = None,
    isolation: Isolation = "read_uncommitted",
) -> tuple[Range, ...]:
    """The ranges without offsets that the filters rule out. Without a view, timestamps rule out nothing."""
    low, high = offset_bounds(filters)
    kept = [
        Range(piece.topic, piece.partition, max(piece.start, low), min(piece.until, high))
        for piece in ranges
        if keeps(filters, piece.of) and max(piece.start, low) < min(piece.until, high)
    ]
    since = since_ms(filters)
    if view is None or since is None or not kept:
        return tuple(kept)
    first = view.for_times({piece.of: since for piece in kept}, isolation)
    return tuple(
        Range(piece.topic, piece.partition, max(piece.start, first[piece.of]), piece.until)
        for piece in kept
        if piece.of in first and first[piece.of] < piece.until
    )


def offset_bounds(filters: Iterable[Filter]) -> tuple[int, int]:
    """The lowest offset that can pass, and the one after the highest. `in` counts from its least to its greatest."""
    low, high = 0, OFFSET_MAX
    for item in filters:
        if item.column != "offset" or not _usable(item):
            continue
        values = [value for value in _values(item) if isinstance(value, int)]
        if not values:
            return 0, 0
        if item.operator in ("=", "in", ">=", ">"):
            low = max(low, min(values) + (item.operator == ">"))
        if item.operator in ("=", "in", "<=", "<"):
            high = min(high, max(values) + (item.operator != "<"))
    return low, max(low, high)


def since_ms(filters: Iterable[Filter]) -> int | None:
    """The highest millisecond such that every row that can pass is as young; None: there is no bound to use."""
    found: list[int] = []
    for item in filters:
        values = _values(item)
        whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
        if item.column != "timestamp" or item.operator in ("<", "<=") or not whole or len(whole) != len(values):
            continue
        # a record's timestamp is a whole millisecond: the first one not below the bound
        found.append((min(whole) + (item.operator == ">") + MICROS - 1) // MICROS)
    since = max(found, default=0)
    return since if since > 0 else None


def _passes(item: Filter, value: Value) -> bool:
    values = _values(item)
    if item.operator in ("=", "in"):
        return value in values
    other = values[0]
    assert isinstance(value, int) and isinstance(other, int)
    return {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}[item.operator]


def _values(item: Filter) -> tuple[Value, ...]:
    return item.value if isinstance(item.value, tuple) else (item.value,)
