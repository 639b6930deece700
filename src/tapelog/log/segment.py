"""One segment of a log: a file of batches, its indexes, and where to find a batch in it.

Owned by a Log's SegmentList. The newest segment is appended to; older ones only get read, renamed and removed.
Files are opened on first use, so a log with many segments opens quickly, and given back when the disk's `Handles` says
that there are too many.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import Disk, DiskError, DiskFullError, File, StaleRegionError
from tapelog.log import names
from tapelog.log.index import OffsetIndex, TimeIndex
from tapelog.log.txn_index import TransactionIndex
from tapelog.wire.primitives import Region

HEADER: Final = 61
WALK_BYTES: Final = 8192
MARKS_MAX: Final = 64
UNKNOWN: Final = -2  # a timestamp not read yet


class FileRegion(Region):
    """Whole batches in a segment file: sent from there, or read. Holding it keeps the file open."""

    def __init__(self, file: File, position: int, size: int, next_offset: int, cuts: list[int]) -> None:
        super().__init__(size)
        self.file = file
        self.position = position
        self.begin = position
        self.end = position + size
        """Where its first batch begins and its last one ends; `position` moves on as it is sent."""
        self.next_offset = next_offset
        """Every record in it has a smaller offset."""
        self._cuts = cuts
        self._known_cuts = len(cuts)

    def check(self) -> None:
        """StaleRegionError if the segment was truncated below its end since: other batches may lie there now, and must
        not be sent under what was said of these."""
        if len(self._cuts) != self._known_cuts:
            for position in self._cuts[self._known_cuts :]:
                if position < self.position + self.size:
                    raise StaleRegionError("the log was truncated before the region was sent")

    def read(self) -> bytes:
        """The batches' bytes."""
        self.check()
        return self.file.read(self.position, self.size)


class Segment:
    """Batches from base_offset on; `size` bytes of them are written."""

    def __init__(self, disk: Disk, directory: str, base_offset: int, size: int, txn_index_present: bool) -> None:
        self.disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        stem = f"{directory}/{names.offset_name(base_offset, '')}"
        self.path = stem + names.LOG
        self.index = OffsetIndex(disk, stem + names.INDEX, base_offset)
        self.time_index = TimeIndex(disk, stem + names.TIME_INDEX, base_offset)
        self.txn_index = TransactionIndex(disk, stem + names.TXN_INDEX, txn_index_present)
        self.max_timestamp = UNKNOWN
        self.max_timestamp_offset = base_offset
        self.since_index = 0  # bytes since the last index entry; only kept for the newest segment
        self._first_timestamp = UNKNOWN
        self._file: File | None = None
        self._marks: dict[int, int] = {}
        self.listed = False  # these three for Handles
        self.used = False
        self.pinned = False
        self.cuts: list[int] = []
        """Where its file was cut, each time: what lay behind may be something else by now."""

    @staticmethod
    def create(disk: Disk, directory: str, base_offset: int) -> Segment:
        """A new, empty segment; whatever lay there under its names is gone."""
        for suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX):
            disk.remove(f"{directory}/{names.offset_name(base_offset, suffix)}")
        segment = Segment(disk, directory, base_offset, 0, False)
        disk.handles.opening(segment)
        file = disk.open(segment.path, create=True)
        if file.size():
            file.truncate(0)
        segment._file = file
        segment.set_newest(-1, base_offset, 0)
        return segment

    def file(self) -> File:
        """The batches' file."""
        self.used = True
        file = self._file
        if file is None:
            self.disk.handles.opening(self)
            try:
                file = self.disk.open(self.path)
            except FileNotFoundError as error:
                raise DiskError(f"{self.path} has gone") from error
            self._file = file
        return file

    def holds(self) -> bool:
        """Whether it keeps the batches' file open."""
        return self._file is not None

    def first_timestamp(self) -> int:
        """The greatest timestamp of the first batch, from which segment.ms counts; -1 while empty."""
        if self._first_timestamp == UNKNOWN:
            if self.size < HEADER:
                return -1
            self._first_timestamp = int(read_i64_be(self.file().read(0, HEADER), 35))
        return self._first_timestamp

    def known_first_timestamp(self) -> int:
        """The same without reading it: UNKNOWN if it was not read yet."""
        return -1 if self.size < HEADER else self._first_timestamp

    def learn_first_timestamp(self, timestamp: int) -> None:
        """What first_timestamp() will answer; spares the read."""
        self._first_timestamp = timestamp

    def newest_timestamp(self) -> int:
        """The greatest timestamp; -1 if no record has one."""
        if self.max_timestamp == UNKNOWN:
            self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
            self.time_index.stored.release()  # asked of every old segment by retention: do not keep them all open
        return self.max_timestamp

    def kept_since_ms(self) -> int:
        """From when on retention.ms counts: the greatest timestamp; where no record has one, as in Kafka, when it was
        written last. -1 if that is not known, either."""
        newest = self.newest_timestamp()
        return newest if newest >= 0 else self.disk.changed_ms(self.path)

    def newest_timestamp_offset(self) -> int:
        """The last offset of the first batch that has the greatest timestamp."""
        self.newest_timestamp()
        return self.max_timestamp_offset

    def newest(self) -> tuple[int, int, int]:
        """Greatest timestamp, its offset, bytes since the last index entry."""
        return self.newest_timestamp(), self.max_timestamp_offset, self.since_index

    def set_newest(self, timestamp: int, offset: int, since_index: int) -> None:
        """What newest() answers from now on."""
        self.max_timestamp = timestamp
        self.max_timestamp_offset = offset
        self.since_index = since_index

    def marked(self, offset: int) -> int:
        """Where the batch that begins with offset was seen, if remembered; -1 otherwise."""
        return self._marks.get(offset, -1)

    def mark(self, offset: int, position: int) -> None:
        """Remember a boundary: readers that tail the log come back to it."""
        marks = self._marks
        if len(marks) >= MARKS_MAX and offset not in marks:
            del marks[next(iter(marks))]
        marks[offset] = position

    def position_of(self, offset: int) -> int:
        """Where the batch begins that holds offset, or the first one after it; `size` if there is none."""
        position = self._marks.get(offset, -1)
        if position < 0:
            position = find_batch(self.file(), self.index.lookup(offset), self.size, offset)
        return position

    def boundary_before(self, position: int, limit: int) -> int:
        """The last batch boundary in (position, limit], or position if the first batch reaches beyond limit."""
        indexed = self.index.floor_position(limit)
        if indexed > position and limit - indexed <= WALK_BYTES:
            return indexed
        return last_boundary(self.file(), max(indexed, position), self.size, limit)

    def batch_end(self, position: int) -> int:
        """Where the batch ends that begins at position."""
        return _next(self.file(), position, int(read_i32_be(self.file().read(position, 12), 8)))

    def persist_indexes(self) -> None:
        """Write index entries that are only in memory."""
        self.index.persist()
        self.time_index.persist()
        self.txn_index.persist()

    def index_files(self) -> list[File]:
        """Its index files: durable together with the batches once the segment is sealed."""
        files = [self.index.stored.opened(), self.time_index.stored.opened()]
        if self.txn_index.present():
            files.append(self.disk.open(self.txn_index.path))
        return files

    def seal(self) -> None:
        """No more appends: complete the indexes so that they tell the newest timestamp."""
        self.time_index.append(self.newest_timestamp(), self.max_timestamp_offset)
        self.persist_indexes()

    def cut_file(self, position: int) -> None:
        """Cut off the bytes from position on; the indexes do not know of them."""
        self.file().truncate(position)
        self.size = position
        self.cuts.append(position)
        self._marks.clear()
        if position == 0:
            self._first_timestamp = UNKNOWN

    def truncate(self, offset: int, position: int) -> None:
        """Cut off everything from offset (which begins at position) on; the indexes with it."""
        self.cut_file(position)
        self.index.truncate(offset)
        self.time_index.truncate(offset)
        self.txn_index.truncate(offset)
        self.settle()

    def settle(self) -> None:
        """Work out greatest timestamp and index distance anew: from the indexes and the batches behind them."""
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
        newest = self.index.last()
        at = 0 if newest is None else newest[1]
        self.since_index = self.size - at
        file = self.file()
        while at < self.size:
            head = file.read(at, HEADER)
            timestamp = int(read_i64_be(head, 35))
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
                self.max_timestamp_offset = int(read_i64_be(head, 0)) + int(read_i32_be(head, 23))
            at += 12 + int(read_i32_be(head, 8))

    def paths(self) -> list[str]:
        """The files it consists of (the indexes may not exist)."""
        return [self.path, self.index.stored.path, self.time_index.stored.path, self.txn_index.path]

    def mark_deleted(self) -> list[str]:
        """Rename its files out of the way; returns their new names. Readers that hold regions can go on. On a disk that
        has no room for a longer name they go at once: they may be what keeps it full."""
        renamed = []
        for path in self.paths():
            if self.disk.exists(path):
                try:
                    self.disk.rename(path, path + names.DELETED)
                except DiskFullError:
                    self.disk.remove(path)
                    continue
                renamed.append(path + names.DELETED)
        self.release()
        return renamed

    def has_open_files(self) -> bool:
        """Whether it holds descriptors itself."""
        files = (self._file, self.index.stored.file, self.time_index.stored.file)
        return any(file is not None for file in files)

    def release(self) -> None:
        """Do without open files until they are needed again. Descriptors go with the last region or flush ticket that
        uses them."""
        self.index.stored.release()
        self.time_index.stored.release()
        self._file = None

    def close(self) -> None:
        """Give the descriptors back."""
        self.index.stored.close()
        self.time_index.stored.close()
        file, self._file = self._file, None
        if file is not None:
            file.close()


def find_batch(file: File, position: int, size: int, offset: int) -> int:
    """From a batch boundary on, the first batch whose last offset is at or after offset; size if there is none."""
    chunk, start = b"", position
    while position < size:
        at = position - start
        if at + HEADER > len(chunk):
            chunk, start, at = file.read(position, WALK_BYTES), position, 0
            if len(chunk) < HEADER:
                return size
        base: int = read_i64_be(chunk, at)
        if base + int(read_i32_be(chunk, at + 23)) >= offset:
            return position
        position = _next(file, position, int(read_i32_be(chunk, at + 8)))
    return size


def last_boundary(file: File, position: int, size: int, limit: int) -> int:
    """From a batch boundary on, the last boundary at or below limit."""
    chunk, start = b"", position
    while position < size:
        at = position - start
        if at + 12 > len(chunk):
            chunk, start, at = file.read(position, WALK_BYTES), position, 0
            if len(chunk) < 12:
                return position
        end = _next(file, position, int(read_i32_be(chunk, at + 8)))
        if end > limit:
            return position
        position = end
    return position


def _next(file: File, position: int, length: int) -> int:
    """Where the batch ends that begins at position, as its length field says; DiskError for one that no batch has."""
    if length < HEADER - 12:
        raise DiskError(f"{file.path} is damaged at {position}: a batch of {length} bytes")
    return position + 12 + length


class SegmentList:
    """A log's segments in order of their base offsets; never empty once open."""

    def __init__(self) -> None:
        self.items: list[Segment] = []
        self._bases: list[int] = []

    def add(self, segment: Segment) -> None:
        """Append a newer segment."""
        assert not self._bases or segment.base_offset > self._bases[-1]
        self.items.append(segment)
        self._bases.append(segment.base_offset)

    def floor(self, offset: int) -> int:
        """Number of the last segment whose base is at or below offset; -1 if there is none."""
        bases = self._bases
        low, high = 0, len(bases)
        if high and bases[high - 1] <= offset:
            return high - 1
        while low < high:
            middle = (low + high) // 2
            if bases[middle] <= offset:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def replace(self, number: int, count: int, segment: Segment) -> None:
        """Put one in the place of count others, the first of which begins where it does."""
        assert segment.base_offset == self._bases[number]
        self.items[number : number + count] = [segment]
        self._bases[number : number + count] = [segment.base_offset]

    def remove_first(self, count: int) -> None:
        """Forget the oldest ones."""
        del self.items[:count]
        del self._bases[:count]

    def remove_from(self, number: int) -> None:
        """Forget that one and all newer ones."""
        del self.items[number:]
        del self._bases[number:]

    def size_bytes(self) -> int:
        """Bytes of batches in all of them."""
        return sum(segment.size for segment in self.items)
