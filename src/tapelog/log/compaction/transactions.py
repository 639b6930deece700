"""Which batches of a cleaning belong to aborted transactions, and which markers have nothing left to decide.

One per pass, told of every batch in order. A marker stays while anything of its transaction is in the log; so does the
entry of an aborted transaction in the index of the segment that its marker goes to.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapelog.log.txn_index import AbortedTransaction
from tapelog.log.validation import parse_marker
from tapelog.wire.record_batch import TRANSACTIONAL, attributes, base_offset, last_offset, producer_id, record_count


class Transactions:
    """See the module. `aborted`: every aborted transaction that has an offset in what is cleaned."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.kept: list[AbortedTransaction] = []
        """Aborted transactions of which something is left, since whoever writes the index took them."""
        self._coming = sorted(aborted, key=lambda one: -one.first_offset)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen: dict[int, bool] = {}
        """Producers with batches of a transaction that is not over: aborted or not."""

    def is_aborted(self, buf: bytes, start: int) -> bool:
        """A batch of records comes: does it belong to an aborted transaction?"""
        self._reach(last_offset(buf, start))
        if not attributes(buf, start) & TRANSACTIONAL:
            return False
        producer = producer_id(buf, start)
        transaction = self._aborted.get(producer)
        aborted = transaction is not None and base_offset(buf, start) < transaction.last_offset
        self._seen[producer] = aborted
        return aborted

    def is_spent(self, buf: bytes, start: int, end: int) -> bool:
        """A control batch comes: is nothing left of what it decides? Never true of what is not a marker."""
        self._reach(last_offset(buf, start))
        if not record_count(buf, start):
            return True  # emptied by an earlier cleaning
        marker = parse_marker(buf, start, end)
        if marker is None:
            return False
        producer = producer_id(buf, start)
        seen = self._seen.pop(producer, None)
        if not marker[0]:
            return seen is None
        transaction = self._aborted.pop(producer, None)
        if transaction is None or transaction.last_offset != base_offset(buf, start) or not seen:
            return True
        self.kept.append(transaction)
        return False

    def take_kept(self) -> list[AbortedTransaction]:
        """Those kept since the last time."""
        kept, self.kept = self.kept, []
        return kept

    def _reach(self, offset: int) -> None:
        """Transactions that have begun at or before offset are under way now."""
        coming = self._coming
        while coming and coming[-1].first_offset <= offset:
            transaction = coming.pop()
            before = self._aborted.get(transaction.producer_id)
            if before is None or before.last_offset < transaction.first_offset:  # a pass may begin behind a marker
                self._aborted[transaction.producer_id] = transaction
