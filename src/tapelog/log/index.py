"""A segment's sparse indexes: offset → position and timestamp → offset, in Kafka's file formats.

Owned by a Segment. Entries are gathered in memory and reach their file in one write when the segment is
checkpointed, rolled or closed: recovery rebuilds whatever was lost, so nothing here is ever waited for.
Look-ups see both parts. Files are opened on first use.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be

from tapelog.base.ports import Disk, File

OFFSET_ENTRY: Final = 8
TIME_ENTRY: Final = 12
# entries read at once when a binary search has come this close
BLOCK: Final = 256
CACHED: Final = 1024
# entries kept in memory before they are written out without waiting for a checkpoint
TAIL_MAX: Final = 1024


class IndexFile:
    """The stored entries of one index: fixed-size, sorted, read by position."""

    def __init__(self, disk: Disk, path: str, entry_size: int) -> None:
        self.disk = disk
        self.path = path
        self.entry_size = entry_size
        self.file: File | None = None
        self.listed = False  # these three for the disk's Handles
        self.used = False
        self.pinned = False
        try:
            size = disk.file_size(path)
        except FileNotFoundError:
            size = 0
        self.count = size // entry_size

    def opened(self) -> File:
        """The file, created if need be."""
        self.used = True
        file = self.file
        if file is None:
            self.disk.handles.opening(self)
            file = self.disk.open(self.path, create=True)
            self.file = file
        return file

    def read(self, first: int, count: int) -> bytes:
        """Entries [first, first + count)."""
        return self.opened().read(first * self.entry_size, count * self.entry_size)

    def append(self, data: bytes) -> None:
        """Add whole entries behind the counted ones."""
        file = self.opened()
        size = self.count * self.entry_size
        if file.size() != size:
            file.truncate(size)
        file.write([data])
        self.count += len(data) // self.entry_size

    def cut(self, count: int) -> None:
        """Keep the first count entries."""
        if count < self.count:
            self.opened().truncate(count * self.entry_size)
            self.count = count

    def holds(self) -> bool:
        """Whether it keeps its file open."""
        return self.file is not None

    def release(self) -> None:
        """Do without the open file until it is needed again."""
        self.file = None

    def moved(self, path: str) -> None:
        """The file was renamed."""
        self.path = path

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


class OffsetIndex:
    """Offset of a batch's last record → where that batch begins in the segment."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self.base_offset = base_offset
        self.stored = IndexFile(disk, path, OFFSET_ENTRY)
        self._offsets: list[int] = []
        self._positions: list[int] = []
        self._block = b""  # stored entries read last: readers come back to them
        self._block_first = 0

    def count(self) -> int:
        """Entries, stored or not."""
        return self.stored.count + len(self._offsets)

    def unstored(self) -> int:
        """Entries that are only in memory."""
        return len(self._offsets)

    def append(self, offset: int, position: int) -> None:
        """Add an entry; both columns only grow."""
        self._offsets.append(offset)
        self._positions.append(position)

    def lookup(self, offset: int) -> int:
        """Position of the last entry at or below offset; 0 if there is none."""
        tail = self._offsets
        if tail and tail[0] <= offset:
            return self._positions[bisect_right(tail, offset) - 1]
        return self._search(offset - self.base_offset, 0)

    def floor_position(self, position: int) -> int:
        """The last indexed position at or below position; 0 if there is none."""
        tail = self._positions
        if tail and tail[0] <= position:
            return tail[bisect_right(tail, position) - 1]
        return self._search(position, 4)

    def last(self) -> tuple[int, int] | None:
        """The newest entry as (offset, position)."""
        if self._offsets:
            return self._offsets[-1], self._positions[-1]
        return self.entry(self.stored.count - 1) if self.stored.count else None

    def entry(self, number: int) -> tuple[int, int]:
        """A stored entry as (offset, position)."""
        data = self.stored.read(number, 1)
        return self.base_offset + int(read_i32_be(data, 0)), int(read_i32_be(data, 4))

    def persist(self) -> None:
        """Write what is only in memory."""
        if not self._offsets:
            return
        writer = BytesWriter()
        for offset, position in zip(self._offsets, self._positions, strict=True):
            write_i32_be(writer, offset - self.base_offset)
            write_i32_be(writer, position)
        self.stored.append(writer.getvalue())
        self._offsets.clear()
        self._positions.clear()

    def truncate(self, offset: int) -> None:
        """Forget entries at or above offset."""
        keep = bisect_left(self._offsets, offset)
        del self._offsets[keep:]
        del self._positions[keep:]
        if not keep:
            self.stored.cut(self._rank(offset - 1 - self.base_offset, 0))
            self._block = b""  # the search has just read what is cut off

    def clear(self) -> None:
        """Forget everything."""
        self._offsets.clear()
        self._positions.clear()
        self._block = b""
        self.stored.cut(0)

    def _rank(self, target: int, column: int) -> int:
        """How many stored entries have column <= target."""
        number = self._rank_in_block(target, column)
        if number >= 0:
            return number
        if self._block:  # a reader that moves on needs the entries behind
            first = self._block_first + len(self._block) // OFFSET_ENTRY - 1
            if first < self.stored.count:
                self._load(first)
                number = self._rank_in_block(target, column)
                if number >= 0:
                    return number
        low, high = 0, self.stored.count
        while high - low > BLOCK:
            middle = (low + high) // 2
            if int(read_i32_be(self.stored.read(middle, 1), column)) <= target:
                low = middle + 1
            else:
                high = middle
        if low == high:
            return low
        self._load(low)
        block, first = self._block, low
        while low < high:
            middle = (low + high) // 2
            if int(read_i32_be(block, (middle - first) * OFFSET_ENTRY + column)) <= target:
                low = middle + 1
            else:
                high = middle
        return low

    def _load(self, first: int) -> None:
        self._block = self.stored.read(first, min(CACHED, self.stored.count - first))
        self._block_first = first

    def _rank_in_block(self, target: int, column: int) -> int:
        """The same, if the cached block can tell; -1 otherwise."""
        block = self._block
        count = len(block) // OFFSET_ENTRY
        if not count or int(read_i32_be(block, column)) > target:
            return -1
        last = int(read_i32_be(block, (count - 1) * OFFSET_ENTRY + column))
        if last <= target and self._block_first + count < self.stored.count:
            return -1
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if int(read_i32_be(block, middle * OFFSET_ENTRY + column)) <= target:
                low = middle + 1
            else:
                high = middle
        return self._block_first + low

    def _search(self, target: int, column: int) -> int:
        number = self._rank(target, column)
        if not number:
            return 0
        at = (number - 1 - self._block_first) * OFFSET_ENTRY
        if 0 <= at < len(self._block):
            return int(read_i32_be(self._block, at + 4))
        return int(read_i32_be(self.stored.read(number - 1, 1), 4))


class TimeIndex:
    """The greatest timestamp seen so far → the last offset of the batch that has it. Both columns only grow."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self.base_offset = base_offset
        self.stored = IndexFile(disk, path, TIME_ENTRY)
        self._timestamps: list[int] = []
        self._offsets: list[int] = []
        self._last: tuple[int, int] | None = None  # not read yet

    def count(self) -> int:
        """Entries, stored or not."""
        return self.stored.count + len(self._offsets)

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry, unless it says nothing new."""
        if timestamp > self.last()[0]:
            self._last = (timestamp, offset)
            self._timestamps.append(timestamp)
            self._offsets.append(offset)

    def last(self) -> tuple[int, int]:
        """The newest entry as (timestamp, offset); (-1, base offset) if there is none."""
        last = self._last
        if last is None:
            last = self.stored_entry(self.stored.count - 1) if self.stored.count else (-1, self.base_offset)
            self._last = last
        return last

    def lookup(self, timestamp: int) -> int:
        """An offset below which no record is as late as timestamp."""
        tail = self._timestamps
        if tail and tail[0] <= timestamp:
            return self._offsets[bisect_right(tail, timestamp) - 1]
        low, high = 0, self.stored.count
        while low < high:
            middle = (low + high) // 2
            if int(read_i64_be(self.stored.read(middle, 1), 0)) <= timestamp:
                low = middle + 1
            else:
                high = middle
        return self.stored_entry(low - 1)[1] if low else self.base_offset

    def stored_entry(self, number: int) -> tuple[int, int]:
        """A stored entry as (timestamp, offset)."""
        data = self.stored.read(number, 1)
        return int(read_i64_be(data, 0)), self.base_offset + int(read_i32_be(data, 8))

    def persist(self) -> None:
        """Write what is only in memory."""
        if not self._offsets:
            return
        writer = BytesWriter()
        for timestamp, offset in zip(self._timestamps, self._offsets, strict=True):
            write_i64_be(writer, timestamp)
            write_i32_be(writer, offset - self.base_offset)
        self.stored.append(writer.getvalue())
        self._timestamps.clear()
        self._offsets.clear()

    def truncate(self, offset: int) -> None:
        """Forget entries at or above offset."""
        keep = bisect_left(self._offsets, offset)
        del self._timestamps[keep:]
        del self._offsets[keep:]
        if not keep:
            low, high = 0, self.stored.count
            while low < high:
                middle = (low + high) // 2
                if self.stored_entry(middle)[1] < offset:
                    low = middle + 1
                else:
                    high = middle
            self.stored.cut(low)
        if self._offsets:
            self._last = (self._timestamps[-1], self._offsets[-1])
        else:
            self._last = None

    def cut(self, count: int) -> None:
        """Keep the first count stored entries (nothing may be only in memory)."""
        assert not self._offsets
        if count != self.stored.count:
            self.stored.cut(count)
            self._last = None

    def clear(self) -> None:
        """Forget everything."""
        self._timestamps.clear()
        self._offsets.clear()
        self.stored.cut(0)
        self._last = None
