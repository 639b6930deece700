"""Which batches belong to transactions that were aborted, as a read_committed consumer tells it.

A broker lists with each Fetch answer the aborted transactions that overlap it, by producer and first offset. From its
first offset on, a producer's transactional batches are aborted, until its abort marker. One object per answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import i64

from tapelog.wire.record_batch import BatchHeader, records_of
from tapelog.wire.values import WireError

_MARKER_KEY_SIZE = 4
_ABORT = 0


class Aborted:
    """Asked about the batches of one answer, in their order."""

    def __init__(self, transactions: Sequence[tuple[int, int]]) -> None:
        """`transactions` are pairs of producer id and first offset."""
        self._coming = sorted(((first, producer) for producer, first in transactions), reverse=True)
        self._open: dict[int, None] = {}

    def hides(self, header: BatchHeader, buf: bytes) -> bool:
        """Is this batch part of an aborted transaction? To be asked for every batch, control batches included."""
        producer: i64 = header.producer_id
        if producer < 0:
            return False
        last = header.last_offset
        while self._coming and self._coming[-1][0] <= last:
            self._open[self._coming.pop()[1]] = None
        if header.is_control:
            if producer in self._open and is_abort_marker(header, buf):
                del self._open[producer]
            return False
        return header.is_transactional and producer in self._open


def is_abort_marker(header: BatchHeader, buf: bytes) -> bool:
    """Does this control batch end a transaction by aborting it?"""
    for record in records_of(buf, header):
        key = record.key
        if key is None or len(key) < _MARKER_KEY_SIZE:
            raise WireError("a control record has no type")
        return int.from_bytes(key[2:4], "big") == _ABORT
    return False
