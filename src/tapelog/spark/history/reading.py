"""Reading a stretch of offsets from one object: what a task does instead of Fetch.

An object that a whole stretch covers is read from its beginning to its end; else its index tells where to begin. For
read_committed the aborted transactions come from the tails of the objects that the plan names (`marks`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from tapelog.spark.history.ahead import blocks
from tapelog.spark.history.batches import Cutter, Held
from tapelog.spark.history.store import open_objects
from tapelog.spark.history.tails import AbortedTransaction, Tail, read_tail
from tapelog.spark.plan.stored import Stored, Stretch
from tapelog.spark.plan.tier import TierSettings

TAILS_MAX: Final = 8
"""Tails that a process keeps: the tasks of one fat object come one after another."""


def read_stretch(settings: TierSettings, stretch: Stretch) -> Iterator[Held]:
    """The batches of a stretch that lies in an object. MissingObjectError if it is gone; StoreError."""
    stored = stretch.stored
    assert stored is not None
    objects = open_objects(settings)
    begin, end = 0, stored.log_size
    if stretch.start > stored.base:
        begin = tail_of(settings, stored).position_of(stretch.start)
    if stretch.until < stored.end:
        end = tail_of(settings, stored).end_of(stretch.until)
    cutter = Cutter(stored, begin, stretch.start, stretch.until)
    return cutter.all(blocks(partial(objects.read, stored.name), begin, end))


def aborted_in(settings: TierSettings, marks: Sequence[Stored]) -> list[AbortedTransaction]:
    """All transactions whose abortion these objects note."""
    return [one for stored in marks for one in tail_of(settings, stored).aborted]


def touching(aborted: Sequence[AbortedTransaction], start: int, until: int) -> list[tuple[int, int]]:
    """Of those, the ones with records from start to until: producer and first offset, as a Fetch answer has them."""
    return [(one.producer_id, one.first) for one in aborted if one.last >= start and one.first < until]


def tail_of(settings: TierSettings, stored: Stored) -> Tail:
    """What lies behind an object's batches, kept for a while."""
    return _tail(settings, stored, os.getpid())


@lru_cache(TAILS_MAX)
def _tail(settings: TierSettings, stored: Stored, process: int) -> Tail:
    return read_tail(open_objects(settings), stored)
