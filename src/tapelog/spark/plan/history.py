"""Which part of a plan is read from object storage, and how such ranges are cut into tasks by the bytes of objects.

A range that a tier holds wholly or in part carries its objects; what lies in none is fetched by the same task. Objects
are sealed and never change: every attempt reads the same rows. One that is gone by then (retention) sends the task to
the broker, which tells what is lost. Where a range ends never depends on the tier in a stream or a `repeatable` batch:
a repetition must make the same tasks, and the tier grows meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tapelog.spark.plan.split import RANGES_MAX
from tapelog.spark.plan.stored import History, Stored, Stretch
from tapelog.spark.plan.values import Range

PIECE_BYTES: Final = 128 * 1024 * 1024
"""A piece of what lies in objects: what Spark takes for files."""
_OVERFULL: Final = 1.25
"""A piece may be so much larger than asked for, if it then ends where an object ends: no index is needed there."""
_CUT_FROM: Final = 1.5
"""An object is cut if it is so many times larger than a piece."""


def with_history(piece: Range, shelf: History | None) -> Range:
    """The same range with those of the objects that hold some of it."""
    return piece if shelf is None else _part(piece, piece.start, piece.until, shelf, _reaching_back(shelf.marks))


def stretches(piece: Range, start: int) -> tuple[Stretch, ...]:
    """From where to read the offsets from start on, in order: they cover the range exactly."""
    found: list[Stretch] = []
    at, history = max(start, piece.start), piece.history
    for stored in history.objects if history is not None else ():
        assert history is not None
        low, high = max(stored.first, at), min(stored.end, history.until, piece.until)
        if low >= high:
            continue
        if low > at:
            found.append(Stretch(at, low, None))
        found.append(Stretch(low, high, stored))
        at = high
    if at < piece.until:
        found.append(Stretch(at, piece.until, None))
    return tuple(found)


def cut_by_objects(ranges: Iterable[Range], piece_bytes: int = PIECE_BYTES) -> tuple[Range, ...]:
    """For batches: ranges cut at the seams of tier and brokers, and into pieces of about so many bytes.

    Cuts are at the ends of objects where possible. What is left to brokers comes without history, to be cut elsewhere.
    """
    whole = tuple(ranges)
    total = sum(_bytes(stretch) for piece in whole for stretch in stretches(piece, piece.start))
    target = max(piece_bytes, total // RANGES_MAX + 1)
    return tuple(piece for one in whole for piece in _cut(one, target))


def _bytes(stretch: Stretch) -> int:
    return 0 if stretch.stored is None else stretch.stored.bytes_of(stretch.start, stretch.until)


def _cut(piece: Range, target: int) -> Iterator[Range]:
    shelf, start = piece.history, piece.start
    if shelf is None:
        yield piece
        return
    back = _reaching_back(shelf.marks)
    for end in _ends(piece, target):
        if end > start:
            yield _part(piece, start, end, shelf, back)
            start = end


def _part(piece: Range, start: int, until: int, shelf: History, back: Sequence[Stored]) -> Range:
    """A part of a range with its objects: found by searching, since a partition may have a hundred thousand."""
    high = min(until, shelf.until)
    held = _between(shelf.objects, start, high)
    if not held:
        return Range(piece.topic, piece.partition, start, until)
    own = [one for one in _between(shelf.marks, start, high) if 0 <= one.aborted_from < high]
    later = [one for one in back if one.first >= high and one.aborted_from < high]
    return Range(piece.topic, piece.partition, start, until, History(held, shelf.until, (*own, *later)))


def _between(objects: Sequence[Stored], start: int, until: int) -> tuple[Stored, ...]:
    low = bisect_right(objects, start, key=lambda one: one.end)
    return tuple(objects[low : bisect_left(objects, until, lo=low, key=lambda one: one.first)])


def _reaching_back(marks: Sequence[Stored]) -> list[Stored]:
    """Those that note the abortion of a transaction which began in an object before."""
    return [one for one in marks if 0 <= one.aborted_from < one.first]


def _ends(piece: Range, target: int) -> Iterator[int]:
    """Where to cut a range; its end comes last."""
    taken, stored_before = 0, False
    for stretch in stretches(piece, piece.start):
        size = _bytes(stretch)
        if stretch.stored is None or not stored_before or (taken and taken + size > target * _OVERFULL):
            yield stretch.start
            taken = 0
        if size > target * _CUT_FROM:
            parts, span = round(size / target), stretch.until - stretch.start
            yield from (stretch.start + span * number // parts for number in range(1, parts + 1))
        else:
            taken += size
        stored_before = stretch.stored is not None
    yield piece.until
