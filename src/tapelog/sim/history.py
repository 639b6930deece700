"""What the cluster has committed, as seen from outside of all nodes: one history per partition, written once.

Whichever node's high watermark first passes a batch writes it down; every other must have the same there. A node that
leads must have all of it. Used by `sim.promises`.
"""

from __future__ import annotations

from typing import Final

from tapelog.log.log import Log
from tapelog.wire.record_batch import base_offset, batch_size, crc_ok, last_offset, leader_epoch, stored_crc

READ_BYTES: Final = 1 << 20

Key = tuple[bytes, int]
"""Topic id and partition."""
Entry = tuple[int, int, int]
"""Last offset, leader epoch and checksum of a batch."""


class History:
    """One partition's committed batches, by first offset."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.end = 0
        self.batches: dict[int, Entry] = {}
        self.epochs: dict[int, int] = {}
        """Who led in which epoch."""
        self.lost_below = 0
        """What lies below may be gone from replicas: retention, or a loss that was allowed."""

    def committed(self, who: str, log: Log, start: int, end: int) -> None:
        """A node says that [start, end) is committed: it must say what others said."""
        offset = max(start, log.local_start_offset)
        while offset < end:
            region = log.read(offset, READ_BYTES, end, True)
            if region is None:  # a log that was begun anew within a batch, where its leader's began
                whole = log.read(offset, 1, log.end_offset, True)
                within = whole is not None and base_offset(whole.read(), 0) < end
                assert within, f"{who} calls {self.name} committed up to {end} and has nothing at {offset}"
                break
            data = region.read()
            position = 0
            while position < len(data):
                size = batch_size(data, position)
                first, last = base_offset(data, position), last_offset(data, position)
                if last >= offset:
                    self._note(who, data, position, position + size, first, last)
                    offset = last + 1
                position += size
        self.end = max(self.end, end)

    def _note(self, who: str, data: bytes, start: int, end: int, first: int, last: int) -> None:
        entry = (last, leader_epoch(data, start), stored_crc(data, start))
        known = self.batches.get(first)
        if known is None:
            assert first >= self.end, f"{who}: {self.name} has a batch at {first}, where others have none"
            assert crc_ok(data, start, end), f"{who}: {self.name} calls a damaged batch at {first} committed"
            self.batches[first] = entry
        else:
            assert known == entry, f"{who}: {self.name} differs at {first}: {entry}, others committed {known}"

    def led(self, who: int, epoch: int, log: Log) -> None:
        """A node begins to lead: it is the only one in that epoch, and has everything."""
        before = self.epochs.setdefault(epoch, who)
        assert before == who, f"{self.name} has two leaders in epoch {epoch}: {before} and {who}"
        assert log.end_offset >= self.end or epoch < max(self.epochs), (  # a zombie may be late to learn what it was
            f"node {who} leads {self.name} in epoch {epoch} and ends at {log.end_offset}, committed was {self.end}"
        )
