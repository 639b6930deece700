"""What the log says about its voters, offset by offset: the newest counts, committed or not; a truncation brings the
one before back. Owned by Quorum."""

from __future__ import annotations

from typing import Final

from tapelog.raft.control import batch_ends, voters_in
from tapelog.raft.ports import RaftLog, Snapshots
from tapelog.raft.voters import VoterSet

READ_BYTES: Final = 1 << 20


class VoterHistory:
    """Sets of voters by the offset of their record. -1: from the configuration, before the log says anything."""

    def __init__(self, configured: VoterSet) -> None:
        self._entries: list[tuple[int, VoterSet]] = [(-1, configured)]

    @property
    def latest(self) -> VoterSet:
        """Who votes now."""
        return self._entries[-1][1]

    @property
    def latest_offset(self) -> int:
        """Where the log says so; -1 if it is only the configuration that does."""
        return self._entries[-1][0]

    @property
    def before(self) -> VoterSet:
        """Who voted before the newest record about it; the same as latest if there was none."""
        return self._entries[-2][1] if len(self._entries) > 1 else self.latest

    def at(self, end_offset: int) -> VoterSet | None:
        """Who voted according to the log below end_offset; None if it says nothing."""
        for offset, voters in reversed(self._entries):
            if 0 <= offset < end_offset:
                return voters
        return None

    def load(self, log: RaftLog, snapshots: Snapshots) -> None:
        """At start: from the newest snapshot and the log behind it."""
        newest = snapshots.list()[-1:]
        for id in newest:
            self.install(id[0], snapshots.read(id))
        offset = max([log.start_offset, *(id[0] for id in newest)])
        while offset < log.written_end:
            data = log.read(offset, READ_BYTES)
            if not data:
                break
            offset = self.append(data)

    def append(self, data: bytes) -> int:
        """Batches were appended; returns the offset behind them."""
        for offset, voters in voters_in(data):
            if offset > self.latest_offset:
                self._entries.append((offset, voters))
        return batch_ends(data)[1]

    def add(self, offset: int, voters: VoterSet) -> None:
        """The leader appended a record about voters at that offset."""
        assert offset > self.latest_offset
        self._entries.append((offset, voters))

    def truncate(self, end_offset: int) -> None:
        """The log was cut back."""
        while self._entries[-1][0] >= end_offset:
            self._entries.pop()

    def install(self, end_offset: int, snapshot: bytes) -> None:
        """A snapshot takes the place of the log: its voters count as of its last offset."""
        found = [voters for _, voters in voters_in(snapshot)]
        known = found[-1] if found else self.at(end_offset)
        self._entries = [entry for entry in self._entries if entry[0] < 0]
        if known is not None:
            self._entries.append((end_offset - 1, known))
