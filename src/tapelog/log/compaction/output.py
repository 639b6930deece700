"""The segment that a cleaning writes: batches and the three indexes, under names that a start throws away.

Index entries are those an append would have made: the last offset of a batch, where it begins, the greatest timestamp
up to it. The transaction index is written even when it is empty: see `swap`.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import Disk, File
from tapelog.log import names
from tapelog.log.index import TAIL_MAX, OffsetIndex, TimeIndex
from tapelog.log.txn_index import AbortedTransaction, TransactionIndex
from tapelog.wire.record_batch import LAST_OFFSET_DELTA_AT, MAX_TIMESTAMP_AT

WRITE_BYTES: Final = 512 * 1024
"""What is gathered before it is written."""
SUFFIXES: Final = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX, names.LOG)
"""A segment's files. The batches come last: where they have a name, the indexes have theirs."""


class CleanedSegment:
    """A segment in the making; `finish` makes it durable, `discard` removes it."""

    def __init__(self, disk: Disk, directory: str, base_offset: int, index_interval: int) -> None:
        self.base_offset = base_offset
        self.size = 0
        self._disk = disk
        self._stem = f"{directory}/{names.offset_name(base_offset, '')}"
        self._interval = index_interval
        self._since_index = 0
        self._newest = (-1, base_offset)
        self._pieces: list[bytes] = []
        self._gathered = 0
        self._remove()
        self._index = OffsetIndex(disk, self._path(names.INDEX), base_offset)
        self._time_index = TimeIndex(disk, self._path(names.TIME_INDEX), base_offset)
        self._txn_index = TransactionIndex(disk, self._path(names.TXN_INDEX), False)
        self._file: File = disk.open(self._path(names.LOG), create=True)

    def _path(self, suffix: str) -> str:
        return self._stem + suffix + names.CLEANED

    def add(self, batch: bytes) -> None:
        """One more batch."""
        last: int = int(read_i64_be(batch, 0)) + int(read_i32_be(batch, LAST_OFFSET_DELTA_AT))
        timestamp: int = read_i64_be(batch, MAX_TIMESTAMP_AT)
        if timestamp > self._newest[0]:
            self._newest = (timestamp, last)
        if self._since_index > self._interval:
            self._index.append(last, self.size)
            self._time_index.append(self._newest[0], self._newest[1])
            self._since_index = 0
            if self._index.unstored() >= TAIL_MAX:
                self._index.persist()
                self._time_index.persist()
        self._since_index += len(batch)
        self.size += len(batch)
        self._pieces.append(batch)
        self._gathered += len(batch)
        if self._gathered >= WRITE_BYTES:
            self._write()

    def add_aborted(self, aborted: list[AbortedTransaction]) -> None:
        """Transactions whose (abort) marker is among the batches added."""
        for transaction in aborted:
            self._txn_index.append(transaction)

    def finish(self, written_ms: int = -1) -> None:
        """Complete the indexes and make every file durable (their names are not yet). Blocks. written_ms: when what it
        was made of was written, if that is known: retention goes by it where no record has a timestamp."""
        self._write()
        self._time_index.append(self._newest[0], self._newest[1])
        self._index.persist()
        self._time_index.persist()
        self._txn_index.persist()
        files = [self._file, self._index.stored.opened(), self._time_index.stored.opened()]
        files.append(self._disk.open(self._path(names.TXN_INDEX), create=True))
        for file in files:
            file.sync()
        for file in files:
            file.close()
        if written_ms >= 0 and self._newest[0] < 0:  # else it would be younger after each cleaning
            self._disk.keep_changed_ms(self._path(names.LOG), written_ms)

    def discard(self) -> None:
        """Remove every file of it."""
        self._index.stored.close()
        self._time_index.stored.close()
        self._file.close()
        self._remove()

    def _remove(self) -> None:
        for suffix in SUFFIXES:
            self._disk.remove(self._path(suffix))

    def _write(self) -> None:
        if self._pieces:
            self._file.write(self._pieces)
            self._pieces = []
            self._gathered = 0
