"""A segment's transaction index: which transactions were aborted, so that readers can leave them out.

Owned by a Segment; small (34 bytes per aborted transaction), kept in memory once used.
"""

from __future__ import annotations

import struct
from typing import Final

from tapelog.base.ports import Disk

ENTRY: Final = struct.Struct(">hqqqq")


class AbortedTransaction:
    """One aborted transaction: its producer, its first and last offset, and the last stable offset it left behind."""

    def __init__(self, producer_id: int, first_offset: int, last_offset: int, last_stable_offset: int) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.last_stable_offset = last_stable_offset

    def as_tuple(self) -> tuple[int, int, int, int]:
        """All four fields, in the file's order."""
        return self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbortedTransaction) and self.as_tuple() == other.as_tuple()

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __repr__(self) -> str:
        return f"AbortedTransaction{self.as_tuple()}"


class TransactionIndex:
    """The aborted transactions that ended in one segment, in order of their markers."""

    def __init__(self, disk: Disk, path: str, present: bool) -> None:
        self.disk = disk
        self.path = path
        self._present = present
        self._entries: list[AbortedTransaction] | None = None if present else []
        self._stored = 0

    def entries(self) -> list[AbortedTransaction]:
        """All of them; read from the file the first time. A torn last entry is not counted."""
        entries = self._entries
        if entries is None:
            entries = []
            data = self.disk.read_file(self.path)
            for at in range(0, len(data) - ENTRY.size + 1, ENTRY.size):
                _, producer_id, first, last, stable = ENTRY.unpack_from(data, at)
                entries.append(AbortedTransaction(producer_id, first, last, stable))
            self._entries = entries
            self._stored = len(entries)
        return entries

    def append(self, aborted: AbortedTransaction) -> None:
        """Add one; persist() writes it."""
        self.entries().append(aborted)

    def collect(self, start: int, upper: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch [start, upper), and whether later segments can be left unsearched."""
        found = []
        entries = self.entries()
        for number in range(self._first_ending_at(start), len(entries)):
            aborted = entries[number]
            if aborted.first_offset < upper:
                found.append(aborted)
            if aborted.last_stable_offset >= upper:
                return found, True
        return found, False

    def _first_ending_at(self, offset: int) -> int:
        """Number of the first transaction whose marker is at or after offset."""
        entries = self.entries()
        low, high = 0, len(entries)
        while low < high:
            middle = (low + high) // 2
            if entries[middle].last_offset < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def persist(self) -> None:
        """Write what is only in memory."""
        entries = self._entries
        if entries is None or len(entries) == self._stored:
            return
        data = b"".join(ENTRY.pack(0, *entry.as_tuple()) for entry in entries[self._stored :])
        file = self.disk.open(self.path, create=True)
        try:
            if file.size() != self._stored * ENTRY.size:
                file.truncate(self._stored * ENTRY.size)
            file.write([data])
        finally:
            file.close()
        self._present = True
        self._stored = len(entries)

    def truncate(self, offset: int) -> None:
        """Forget transactions that ended at or above offset."""
        entries = self.entries()
        keep = len(entries)
        while keep and entries[keep - 1].last_offset >= offset:
            keep -= 1
        self._keep(keep)

    def drop_last(self) -> None:
        """Forget the newest one."""
        self._keep(len(self.entries()) - 1)

    def clear(self) -> None:
        """Forget everything."""
        self._keep(0)

    def _keep(self, count: int) -> None:
        del self.entries()[count:]
        if count < self._stored:
            file = self.disk.open(self.path)
            file.truncate(count * ENTRY.size)
            file.close()
            self._stored = count

    def present(self) -> bool:
        """Whether there is a file."""
        return self._present

    def moved(self, path: str) -> None:
        """The file was renamed."""
        self.path = path
