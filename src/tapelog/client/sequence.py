"""The batches of one partition on their way out, as a machine: order, sequence numbers, and what to do after an answer.

An idempotent producer numbers its records, so a batch may be sent again whatever became of it: the broker knows it. Up
to five batches are in flight. When one fails, those behind it fail, too (their numbers do not follow); nothing more is
sent then until all answers are in. What failed goes out again in its order, one at a time: a broker remembers five
batches, so no newer ones may pass one whose fate is unknown. The first batch goes alone, too: from a producer that it
does not know, a broker takes any number, and one that overtakes the first would make the first look out of order.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tapelog.client.errors import RETRY
from tapelog.client.metadata import TopicPartition
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.record_batch import NO_SEQUENCE, BatchHeader, build_batch, records_of

IN_FLIGHT_MAX: Final = 5
"""A broker remembers as many batches of a producer."""
_SEQUENCES: Final = 0x7FFFFFFF

DONE: Final = "done"
AGAIN: Final = "again"
FAILED: Final = "failed"


class Batch:
    """A batch of records, built, with its number."""

    __slots__ = ("at", "charge", "count", "data", "doubtful", "sequence")

    def __init__(self, data: bytes, count: int, sequence: int, at: float, charge: int | None = None) -> None:
        self.data = data
        self.count = count
        self.sequence = sequence
        self.at = at
        """When it was made."""
        self.doubtful = False
        """It was sent before, and may have arrived."""
        self.charge = len(data) if charge is None else charge
        """What it counts for among all that is held; two halves of a batch count for as much as the whole."""


class PartitionQueue:
    """One partition's batches: `ready` to go, and `flying` ones whose answer has not come."""

    def __init__(self, where: TopicPartition, *, numbered: bool) -> None:
        self.where = where
        self.ready: deque[Batch] = deque()
        self.flying: deque[Batch] = deque()
        self.not_before = 0.0
        """When it may be tried again after a failure."""
        self.failures = 0
        """In a row."""
        self._numbered = numbered
        self._known = not numbered
        """Does the broker know the producer, or need not?"""
        self._next = 0
        self._again: list[Batch] = []

    @property
    def idle(self) -> bool:
        """Has everything arrived?"""
        return not self.ready and not self.flying and not self._again

    def number(self, count: int) -> int:
        """The number of the next batch's first record."""
        if not self._numbered:
            return NO_SEQUENCE
        sequence = self._next
        self._next = (sequence + count) & _SEQUENCES
        return sequence

    def sendable(self, now: float) -> bool:
        """May the next batch go out?"""
        if not self.ready or self._again or now < self.not_before:
            return False
        if self.flying and (not self._known or self.ready[0].doubtful or self.flying[-1].doubtful):
            return False
        return len(self.flying) < IN_FLIGHT_MAX

    def take(self) -> Batch:
        """The next batch, from now on in flight."""
        batch = self.ready.popleft()
        self.flying.append(batch)
        return batch

    def answered(self, batch: Batch, number: int) -> str:
        """What the broker said about the oldest batch in flight: DONE, AGAIN (it will be sent again), or FAILED."""
        assert self.flying and self.flying[0] is batch, "answers come in the order of their requests"
        self.flying.popleft()
        code = error_code(number)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self.failures = 0
            self._known = True
            self._recover()
            return DONE
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            self._again += split(batch)
            self._again[-2].doubtful = self._again[-1].doubtful = True
        elif code in RETRY or (code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and self._again):
            batch.doubtful = True
            self._again.append(batch)
        else:
            return FAILED
        self._recover()
        return AGAIN

    def lost(self, batch: Batch) -> None:
        """No answer will come: the batch may have arrived or not."""
        self.answered(batch, ErrorCode.NETWORK_EXCEPTION)

    def _recover(self) -> None:
        if self._again and not self.flying:
            self.ready.extendleft(reversed(self._again))
            self._again = []
            self.failures += 1


def split(batch: Batch) -> list[Batch]:
    """The same records, with the same numbers, in two batches."""
    header = BatchHeader(batch.data, 0, len(batch.data))
    records = list(records_of(batch.data, header, 1 << 30))
    made = []
    for start, part in ((0, records[: len(records) // 2]), (len(records) // 2, records[len(records) // 2 :])):
        sequence = batch.sequence if batch.sequence == NO_SEQUENCE else (batch.sequence + start) & _SEQUENCES
        data = build_batch(
            part,
            compression=header.compression,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=sequence,
            transactional=header.is_transactional,
        )
        made.append(Batch(data, len(part), sequence, batch.at, 0 if start else batch.charge))
    return made
