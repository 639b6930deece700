"""Appends that wait to be written: bytes for one segment each, with the index entries they will bring.

Owned by a Log. Positions, index entries and rolls are decided when a batch is queued, so that writing is one
vectored write per segment, and taking everything back is forgetting it.
"""

from __future__ import annotations

from tapelog.log.index import TAIL_MAX
from tapelog.log.segment import Segment
from tapelog.log.txn_index import AbortedTransaction


class Group:
    """What goes into one segment: the active one, or a new one that begins with `roll_at`."""

    def __init__(self, roll_at: int) -> None:
        self.roll_at = roll_at  # -1: the active segment
        self.pieces: list[bytes | memoryview] = []
        self.size = 0
        self.count = 0  # of batches
        self.snapshot = b""  # the producers at roll_at
        self.index_entries: list[tuple[int, int, int, int]] = []  # offset, position, max timestamp, its offset
        self.aborted: list[AbortedTransaction] = []
        self.since_index = 0
        self.max_timestamp = -1
        self.max_timestamp_offset = -1
        self.first_timestamp = -1

    def start_from(self, segment: Segment) -> None:
        """Carry on where the active segment is."""
        self.since_index = segment.since_index
        self.max_timestamp = segment.max_timestamp
        self.max_timestamp_offset = segment.max_timestamp_offset
        self.first_timestamp = segment.known_first_timestamp()

    def apply(self, segment: Segment) -> None:
        """The bytes are written: let the segment know of them."""
        segment.size += self.size
        segment.since_index = self.since_index
        segment.max_timestamp = self.max_timestamp
        segment.max_timestamp_offset = self.max_timestamp_offset
        segment.learn_first_timestamp(self.first_timestamp)
        if self.index_entries:
            index, time_index = segment.index, segment.time_index
            for offset, position, timestamp, timestamp_offset in self.index_entries:
                index.append(offset, position)
                time_index.append(timestamp, timestamp_offset)
            if index.unstored() >= TAIL_MAX:
                segment.persist_indexes()
        for aborted in self.aborted:
            segment.txn_index.append(aborted)
