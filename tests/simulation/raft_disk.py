"""A replica's disk in memory, for the quorum alone: a log of batches, a vote file, snapshots; what is synced survives.

A crash keeps what was durable and, by luck, more; a truncation that was not synced may be undone by it.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.ports import DiskError
from tapelog.raft.values import OffsetEpoch
from tapelog.sim.entropy import SimEntropy
from tapelog.wire import record_batch

Entry = tuple[int, int, int, bytes]
"""(base offset, end offset, epoch, batch)"""


class Disk:
    """What outlives the process."""

    def __init__(self, directory_id: bytes) -> None:
        self.directory_id = directory_id
        self.entries: list[Entry] = []
        self.start: tuple[int, int] = (0, 0)
        self.vote: bytes | None = None
        self.snapshots: dict[tuple[int, int], bytes] = {}


class MemoryLog:
    """RaftLog on such a disk. The world calls `write` after each step, and `begin_flush`/`end_flush` as time passes."""

    def __init__(self, disk: Disk, entropy: SimEntropy, later: Callable[[Callable[[], None]], None]) -> None:
        self.disk = disk
        self.entropy = entropy
        self.later = later
        self.entries = list(disk.entries)
        self.start_offset, self._start_epoch = disk.start
        self.written_end = self.durable_end = self.end_offset
        self._truncated_unsynced = False

    @property
    def end_offset(self) -> int:
        return self.entries[-1][1] if self.entries else self.start_offset

    @property
    def last_epoch(self) -> int:
        return self.entries[-1][2] if self.entries else self._start_epoch

    def append(self, batch: bytes, epoch: int) -> int:
        assert epoch >= self.last_epoch
        base = self.end_offset
        placed = base.to_bytes(8, "big") + batch[8:12] + epoch.to_bytes(4, "big") + batch[16:]
        end = base + record_batch.last_offset_delta(batch, 0) + 1
        self.entries.append((base, end, epoch, placed))
        return end

    def append_replicated(self, data: bytes, epoch: int) -> int:
        for header in record_batch.batches(data, 0, len(data)):
            assert header.base_offset == self.end_offset, "a gap"
            assert epoch >= header.leader_epoch >= self.last_epoch, "an epoch went back"
            end = header.last_offset + 1
            self.entries.append((header.base_offset, end, header.leader_epoch, data[header.position : header.end]))
        return self.end_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        data = b""
        for base, end, _, batch in self.entries:
            if end <= offset or base >= self.written_end:
                continue
            if data and len(data) + len(batch) > max_bytes:
                break
            data += batch
        return data

    def end_of_epoch(self, epoch: int) -> OffsetEpoch:
        found = OffsetEpoch(self.start_offset, min(epoch, self._start_epoch))
        for _, end, of, _ in self.entries:
            if of <= epoch:
                found = OffsetEpoch(end, of)
        return found

    def truncate(self, offset: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]) -> None:
        def cut() -> None:
            if wanted():
                self.cut(offset)
            done(None)

        self.later(cut)

    def cut(self, offset: int) -> None:
        if offset >= self.end_offset:
            return
        self.entries = [entry for entry in self.entries if entry[1] <= offset]
        self.written_end = min(self.written_end, self.end_offset)
        if self.durable_end > self.end_offset:
            self.durable_end = self.end_offset
            self._truncated_unsynced = True

    def restart_at(
        self, offset: int, epoch: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]
    ) -> None:
        def cut() -> None:
            if wanted():
                self.entries = []
                self.start_offset, self._start_epoch = offset, epoch
                self.written_end = self.durable_end = offset
                self.disk.entries, self.disk.start = [], (offset, epoch)
            done(None)

        self.later(cut)

    def advance_start(self, offset: int, epoch: int) -> None:
        """Everything below is in a snapshot."""
        if offset > self.start_offset:
            self.entries = [entry for entry in self.entries if entry[0] >= offset]
            self.start_offset, self._start_epoch = offset, epoch
            self.disk.entries = [entry for entry in self.disk.entries if entry[0] >= offset]
            self.disk.start = (offset, epoch)

    # -- the world's side

    def write(self) -> bool:
        """Make what was appended readable; whether there was anything."""
        wrote = self.written_end < self.end_offset
        self.written_end = self.end_offset
        return wrote

    def undo_write(self) -> None:
        """The disk is full: what was not written is taken back."""
        self.entries = [entry for entry in self.entries if entry[1] <= self.written_end]

    def begin_flush(self) -> list[Entry]:
        """What a flush that begins now makes durable."""
        self._truncated_unsynced = False
        return [entry for entry in self.entries if entry[1] <= self.written_end]

    def end_flush(self, flushed: list[Entry]) -> None:
        """That flush is done; what was cut off meanwhile does not count."""
        common = 0
        for mine, theirs in zip(self.entries, [e for e in flushed if e[0] >= self.start_offset], strict=False):
            if mine is not theirs and mine != theirs:
                break
            common = mine[1]
        self.durable_end = max(self.durable_end, common)
        self.disk.entries = [entry for entry in flushed if entry[0] >= self.disk.start[0]]

    def crash(self) -> None:
        """Power is gone: the disk keeps what was synced; what was only written may be there, in order."""
        if self._truncated_unsynced and self.entropy.chance(50):
            return  # the old tail is back
        survivors = [entry for entry in self.entries if entry[1] <= self.durable_end]
        unsynced = [entry for entry in self.entries if self.durable_end < entry[1] <= self.written_end]
        keep = self.entropy.below(len(unsynced) + 1)
        self.disk.entries = survivors + unsynced[:keep]


class VoteFile:
    """QuorumStore on such a disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def read(self) -> bytes | None:
        return self.disk.vote

    def write(self, data: bytes) -> None:
        self.disk.vote = data


class SnapshotFiles:
    """Snapshots on such a disk; `later` delays their completion."""

    def __init__(self, disk: Disk, later: Callable[[Callable[[], None]], None]) -> None:
        self.disk = disk
        self.later = later

    def list(self) -> list[tuple[int, int]]:
        return sorted(self.disk.snapshots)

    def read(self, id: tuple[int, int]) -> bytes:
        return self.disk.snapshots[id]

    def write(self, id: tuple[int, int], data: bytes, done: Callable[[Exception | None], None]) -> None:
        def finish() -> None:
            self.disk.snapshots[id] = data
            done(None)

        self.later(finish)
