"""Ranges into pieces for tasks: as Spark's Kafka source does where it was told to, by bytes where it was not.

`minPartitions` and `maxRecordsPerPartition` follow Spark's arithmetic. Without them, a partition with many bytes is
cut, so that it is read by many tasks; nothing is cut below what a task is worth. Pieces cover their range exactly, come
in its order, and none is empty. `tasks` puts small ones together, and knows the slots where somebody told them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.rate import weights_of
from tapelog.spark.plan.values import NO_WEIGHTS, Range, TopicPartition, Weights

RANGES_MAX: Final = 100_000
"""More tasks than this a driver cannot hold; an option that asks for them is refused."""

PIECE_BYTES_MIN: Final = 32 * 1024 * 1024
"""Less than this is read faster than a task is started."""

PIECE_BYTES: Final = 256 * 1024 * 1024
"""A piece where nobody says how many slots there are: twice what Spark takes for files. They are read in a third of a
second, and between two tasks a slot stands still for a hundredth of one (Spark's scheduler, its Python workers)."""

PIECE_OFFSETS: Final = 2_500_000
"""A piece of a stream, or of a batch that is `repeatable`: a number of offsets, since bytes are guessed anew each time,
and a replay must cut alike. Each task costs 30 ms of processor time, of which small records feel most."""


def split(
    ranges: Iterable[Range],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
    weights: Weights = NO_WEIGHTS,
) -> tuple[Range, ...]:
    """Pieces of the ranges, in order. OptionError if the options ask for more than RANGES_MAX."""
    whole = tuple(sorted(ranges))
    if min_partitions is None and max_records is None:
        return _by_bytes(whole, weights)
    pieces = whole if max_records is None else _by_records(whole, max_records)
    if min_partitions is None or len(pieces) >= min_partitions:
        return pieces
    return _by_count(pieces, min_partitions)


def split_evenly(ranges: Iterable[Range], most: int = PIECE_OFFSETS) -> tuple[Range, ...]:
    """Pieces of about so many offsets: for the same ranges always the same, whatever the brokers know."""
    whole = tuple(sorted(ranges))
    target = max(most, sum(piece.size for piece in whole) // RANGES_MAX + 1)
    return _cut_all(whole, [max(1, _round(piece.size / target)) for piece in whole])


def clipped(
    pieces: Iterable[Range], windows: Mapping[TopicPartition, tuple[int, int]]
) -> tuple[tuple[Range, ...], tuple[int, ...]]:
    """The pieces as far as they lie in their partition's window, and the numbers of those of which nothing is left."""
    left: list[Range] = []
    empty: list[int] = []
    for number, piece in enumerate(pieces):
        low, high = windows.get(piece.of, (piece.until, piece.until))
        start, until = max(piece.start, low), min(piece.until, high)
        if start >= until:
            empty.append(number)
        else:
            left.append(Range(piece.topic, piece.partition, start, until))
    return tuple(left), tuple(empty)


def _by_records(ranges: Sequence[Range], most: int) -> tuple[Range, ...]:
    parts = [-(-piece.size // most) for piece in ranges]
    if sum(parts) > RANGES_MAX:
        enough = (
            -(-sum(piece.size for piece in ranges) // (RANGES_MAX - len(ranges))) if len(ranges) < RANGES_MAX else 0
        )
        raise OptionError(
            f"maxRecordsPerPartition={most} cuts this batch into {sum(parts)} tasks; {RANGES_MAX} is the most.",
            f"Set it to {enough} or more." if enough else "Leave it out: there are that many partitions already.",
        )
    return _cut_all(ranges, parts)


def _by_count(ranges: Sequence[Range], least: int) -> tuple[Range, ...]:
    if least > RANGES_MAX:
        raise OptionError(f"minPartitions={least} is more tasks than a driver can hold; {RANGES_MAX} is the most.")
    total = sum(piece.size for piece in ranges)
    small = [piece for piece in ranges if _share(piece.size, total, least) == 1]
    left_alone = {piece.of for piece in small}
    total_of_large = total - sum(piece.size for piece in small)
    parts_of_large = max(least - len(small), 1)
    parts = [1 if piece.of in left_alone else _share(piece.size, total_of_large, parts_of_large) for piece in ranges]
    return _cut_all(ranges, parts)


def _by_bytes(ranges: Sequence[Range], weights: Weights) -> tuple[Range, ...]:
    if not weights:
        return tuple(ranges)
    weight = weights_of({piece.of: piece.until for piece in ranges}, weights)
    heavy = [piece.size * weight[piece.of] for piece in ranges]
    most = max(1, RANGES_MAX // max(1, len(ranges)))
    return _cut_all(ranges, [_worth(size, most) for size in heavy])


def _worth(size: float, most: int) -> int:
    """How many pieces so many bytes make: near PIECE_BYTES each."""
    return max(1, min(_round(size / PIECE_BYTES), most))


def _share(size: int, total: int, parts: int) -> int:
    return max(_round(size / total * parts), 1)


def _round(number: float) -> int:
    """To the nearest whole number, halves upwards, as Java does."""
    below = math.floor(number)
    return below + 1 if number - below >= 0.5 else below


def _cut_all(ranges: Sequence[Range], parts: Sequence[int]) -> tuple[Range, ...]:
    return tuple(piece for whole, count in zip(ranges, parts, strict=True) for piece in _cut(whole, count))


def _cut(whole: Range, parts: int) -> Iterable[Range]:
    """Equal pieces but for one offset, the longer ones last; no more of them than there are offsets."""
    start, left = whole.start, whole.size
    for piece in range(parts):
        size = left // (parts - piece)
        left -= size
        if size:
            yield Range(whole.topic, whole.partition, start, start + size)
        start += size
