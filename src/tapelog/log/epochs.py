"""Leader epochs of a log: from which offset on each leader wrote.

Owned by a Log; consulted for truncation (OffsetForLeaderEpoch) and ListOffsets. Changes reach the file
`leader-epoch-checkpoint` at the next checkpoint: recovery learns newer ones from the batches themselves.
"""

from __future__ import annotations

from bisect import bisect_right


class LeaderEpochs:
    """Epochs and their start offsets, both strictly growing."""

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.dirty = False
        self.latest = -1
        for epoch, start in entries or []:
            self.assign(epoch, start)
        self.dirty = False

    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> None:
        """From start_offset on, epoch writes. Epochs that got no record before it disappear."""
        if epoch <= self.latest or epoch < 0:
            return
        while self._starts and self._starts[-1] >= start_offset:
            self._starts.pop()
            self._epochs.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        self.dirty = True

    def epoch_for(self, offset: int) -> int:
        """The epoch in which offset was written; -1 if unknown."""
        number = bisect_right(self._starts, offset)
        return self._epochs[number - 1] if number else -1

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """(largest known epoch <= epoch, where it ended); (-1, -1) if nothing is known of it."""
        if epoch < 0 or not self._epochs:
            return -1, -1
        if epoch == self.latest:
            return epoch, log_end
        number = bisect_right(self._epochs, epoch)
        if number == len(self._epochs):  # an epoch from the future
            return -1, -1
        if number == 0:  # older than anything kept: it ended where the first kept one starts
            return epoch, self._starts[0]
        return self._epochs[number - 1], self._starts[number]

    def truncate_from_end(self, end_offset: int) -> None:
        """The log was cut back: epochs that start at or after its new end disappear."""
        while self._starts and self._starts[-1] >= end_offset:
            self._starts.pop()
            self._epochs.pop()
            self.dirty = True
        self.latest = self._epochs[-1] if self._epochs else -1

    def truncate_from_start(self, start_offset: int) -> None:
        """The log's beginning was deleted: only the epoch that covers start_offset and later ones stay."""
        number = bisect_right(self._starts, start_offset)
        if number > 1:
            del self._epochs[: number - 1]
            del self._starts[: number - 1]
            self.dirty = True
        if self._starts and self._starts[0] < start_offset:
            self._starts[0] = start_offset
            self.dirty = True

    def clear(self) -> None:
        """Forget everything."""
        self.dirty = self.dirty or bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()
        self.latest = -1
