"""The bytes of a segment's object, from the local files: read piece by piece, every batch checked on the way.

`open_content` runs on the loop and opens the files; `pieces` is asked for on another thread, as often as the upload is
tried. What is wrong with the local files ends an upload with DamagedError: rot does not go up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import File
from tapelog.log import names
from tapelog.log.checkpoints import render_epochs
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.log import Log
from tapelog.log.producer_state import ProducerState
from tapelog.log.recovery import rebuild_producers
from tapelog.log.snapshots import SnapshotError, check_snapshot, render_snapshot
from tapelog.log.tier import layout
from tapelog.log.tier.layout import Footer
from tapelog.log.tier.manifest import SegmentEntry
from tapelog.log.txn_index import ENTRY as TXN_ENTRY
from tapelog.wire.crc import crc32c
from tapelog.wire.record_batch import HEADER_SIZE, LAST_OFFSET_DELTA_AT, LENGTH_AT, LOG_OVERHEAD, crc_ok

PIECE_BYTES: Final = 1 << 20

extend_crc32c = cast(Callable[[bytes, int], int], crc32c)
"""The checksum of more bytes, from the checksum so far."""


class DamagedError(Exception):
    """A local segment is not what it should be: it stays where it is. `tape scrub` may repair it."""


class Content:
    """One local segment on its way up."""

    def __init__(
        self,
        base_offset: int,
        end_offset: int,
        size: int,
        newest: tuple[int, int],
        written_ms: int,
        log: File,
        sections: list[File | bytes | None],
        epochs: tuple[tuple[int, int], ...],
    ) -> None:
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.size = size
        self._newest = newest
        self._written_ms = written_ms
        self._log = log
        self._sections = sections
        self._epochs = epochs
        self._footer: Footer | None = None
        self._tail_crc = 0
        self._aborted_from = -1
        self.crc = 0
        """Of the whole object, once its pieces were asked for."""

    @property
    def object_size(self) -> int:
        """Of the whole object, once its pieces were asked for."""
        assert self._footer is not None
        return self._footer.object_size

    def pieces(self) -> Iterator[bytes]:
        """The object from its beginning to its end. DamagedError, DiskError."""
        crc, position, rest, offset = 0, 0, b"", self.base_offset
        while position < self.size:
            piece = self._log.read(position, min(PIECE_BYTES, self.size - position))
            if not piece:
                raise DamagedError(f"{self._log.path} ends at {position} instead of {self.size}")
            rest, offset = check_batches(rest + piece if rest else piece, offset, self.end_offset, self._log.path)
            crc = extend_crc32c(piece, crc)
            position += len(piece)
            yield piece
        if rest:
            raise DamagedError(f"{self._log.path} ends within a batch")
        sections = tuple(_content(section) for section in self._sections)
        sizes = tuple(map(len, sections))
        self._aborted_from = aborted_from(sections[layout.TXN_INDEX])
        footer = Footer(self.base_offset, self.end_offset, *self._newest, self.size, sizes, crc)
        tail = layout.render_tail(footer, sections)
        self._footer, self._tail_crc, self.crc = footer, layout.tail_crc(tail), extend_crc32c(tail, crc)
        yield tail

    def entry(self, name: str, first_offset: int) -> SegmentEntry:
        """What the manifest will say, once the pieces have gone up."""
        footer = self._footer
        assert footer is not None
        return SegmentEntry(
            name,
            self.base_offset,
            first_offset,
            self.end_offset,
            footer.max_timestamp,
            footer.max_timestamp_offset,
            self.size,
            footer.section_sizes,
            footer.log_crc,
            self._tail_crc,
            self._epochs,
            self._aborted_from,
            self._written_ms,
        )

    def close(self) -> None:
        """Give the descriptors back."""
        for file in (self._log, *self._sections):
            if file is not None and not isinstance(file, bytes):
                file.close()


def open_content(log: Log, base_offset: int) -> Content | None:
    """A sealed segment of that log by its base offset; None if it is there no more."""
    number = log.segments.floor(base_offset)
    items = log.segments.items
    if number < 0 or number + 1 >= len(items) or items[number].base_offset != base_offset:
        return None
    segment, end = items[number], items[number + 1].base_offset
    segment.persist_indexes()
    disk = log.disk

    def optional(path: str) -> File | None:
        try:
            return disk.open(path)
        except FileNotFoundError:
            return None

    producers = producers_at(log, end)  # before anything is open: it may have to read, and reading may fail
    file = optional(segment.path)
    if file is None:
        return None
    cache = log.leader_epoch_cache
    newest = segment.newest_timestamp()
    return Content(
        base_offset,
        end,
        segment.size,
        (newest, segment.newest_timestamp_offset()),
        segment.kept_since_ms() if newest < 0 else -1,
        file,
        [
            optional(segment.index.stored.path),
            optional(segment.time_index.stored.path),
            optional(segment.txn_index.path),
            producers,
            render_epochs([(epoch, start) for epoch, start in cache.entries() if start < end]),
        ],
        epochs_within(cache, base_offset, end),
    )


def epochs_within(cache: LeaderEpochs, base_offset: int, end_offset: int) -> tuple[tuple[int, int], ...]:
    """(epoch, first offset of it in the range); empty where nothing is known."""
    first = cache.epoch_for(base_offset)
    found = [] if first < 0 else [(first, base_offset)]
    found += [(epoch, start) for epoch, start in cache.entries() if base_offset < start < end_offset]
    return tuple(found)


def check_batches(data: bytes, offset: int, end_offset: int, path: str) -> tuple[bytes, int]:
    """Check whole batches from the front of data on; returns the rest and the next offset. DamagedError."""
    at, size = 0, len(data)
    while at + HEADER_SIZE <= size:
        length = LOG_OVERHEAD + int(read_i32_be(data, at + LENGTH_AT))
        if length < HEADER_SIZE:
            raise DamagedError(f"{path}: no batch at offset {offset}")
        if at + length > size:
            break
        base: int = read_i64_be(data, at)
        last = base + int(read_i32_be(data, at + LAST_OFFSET_DELTA_AT))
        if base < offset or last < base or last >= end_offset:
            raise DamagedError(f"{path}: a batch [{base}, {last}] where offset {offset} should follow")
        if not crc_ok(data, at, at + length):
            raise DamagedError(f"{path}: the batch at offset {base} has a wrong checksum")
        offset = last + 1
        at += length
    return data[at:], offset


def aborted_from(index: bytes) -> int:
    """The least first offset in a transaction index; -1 if it is empty."""
    whole = len(index) - len(index) % TXN_ENTRY.size
    return min((first for _, _, first, _, _ in TXN_ENTRY.iter_unpack(index[:whole])), default=-1)


def producers_at(log: Log, end: int) -> bytes:
    """The producers at the end of a segment, by their snapshot or, where that is missing or torn, by the batches behind
    an earlier one: a transaction that was open there may have been aborted since, and only who knows of it looks for
    that in later segments."""
    try:
        data = log.disk.read_file(log.path_of(end, names.SNAPSHOT))
        check_snapshot(data)
        return data
    except (FileNotFoundError, SnapshotError):
        producers = ProducerState()
        rebuild_producers(log.disk, log.directory, log.segments, producers, end)
        return render_snapshot(producers)


def _content(section: File | bytes | None) -> bytes:
    if section is None:
        return b""
    return section if isinstance(section, bytes) else section.read(0, section.size())
