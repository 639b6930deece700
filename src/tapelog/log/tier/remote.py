"""A segment in the tier, read like one on disk: the same indexes, the same ways to find a batch.

`RemoteSegment` has a `segment.Segment` whose indexes are ranges of an object. Reading from them raises NotHereError
where a piece is missing (see `pieces`); whoever looked something up does it again when that is here.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final, cast

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.handles import Handles
from tapelog.base.ports import Disk
from tapelog.log import names
from tapelog.log.checkpoints import parse_epochs
from tapelog.log.segment import HEADER, Segment
from tapelog.log.snapshots import parse_snapshot
from tapelog.log.tier import layout
from tapelog.log.tier.buffers import Block, room_for
from tapelog.log.tier.checking import first_damaged, known_good, views
from tapelog.log.tier.manifest import SegmentEntry
from tapelog.log.tier.pieces import Pieces
from tapelog.log.txn_index import ENTRY as TXN_ENTRY
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import MAGIC, MAGIC_AT

_SECTIONS: Final = {
    names.INDEX: layout.OFFSET_INDEX,
    names.TIME_INDEX: layout.TIME_INDEX,
    names.TXN_INDEX: layout.TXN_INDEX,
}
Tail = tuple[bytes, ...]
WALKS_MAX: Final = 16
"""Walks through one segment that are remembered."""


class Transactions:
    """Of one segment: those that were aborted in it, in order of their markers, and where the oldest one began that was
    still open at its end (-1: there was none)."""

    __slots__ = ("aborted", "first_open")

    def __init__(self, aborted: list[AbortedTransaction], first_open: int) -> None:
        self.aborted = aborted
        self.first_open = first_open


class Walk:
    """How far somebody has come through a segment's batches: `at` is the next one's position, no offset of which is
    below `least`; `best` is theirs."""

    __slots__ = ("at", "best", "least")

    def __init__(self, at: int, least: int) -> None:
        self.at = at
        self.least = least
        self.best = -1


class RemoteSegment:
    """One entry of a manifest, ready to be read. Objects of it may be dropped at any time: they hold no pieces."""

    def __init__(self, pieces: Pieces, prefix: str, entry: SegmentEntry) -> None:
        self.pieces = pieces
        self.name = prefix + entry.name
        self.entry = entry
        self.size = entry.log_size
        self._block = pieces.block_bytes
        self._walks: dict[tuple[int, ...], Walk] = {}
        disk = cast(Disk, _ObjectDisk(self))
        self.segment = Segment(disk, "", entry.base_offset, entry.log_size, entry.section_sizes[layout.TXN_INDEX] > 0)
        self.segment.set_newest(entry.max_timestamp, entry.max_timestamp_offset, 0)

    def tail(self) -> Tail:
        """Its indexes, producers and epochs, checked."""
        entry = self.entry
        return cast(Tail, self.pieces.get(self.name, entry.log_size, entry.tail_size, self._parse_tail))

    def _parse_tail(self, data: bytes) -> Tail:
        if layout.tail_crc(data) != self.entry.tail_crc:
            raise layout.LayoutError("the tail is not the one of the manifest")
        return layout.parse_tail(data)[1]

    def epochs(self) -> list[tuple[int, int]]:
        """Every leader epoch up to its end."""
        return parse_epochs(self.tail()[layout.LEADER_EPOCHS], self.name)

    def snapshot(self) -> bytes:
        """The producers at its end."""
        return self.tail()[layout.PRODUCERS]

    def transactions(self) -> Transactions:
        """What became of transactions in it."""
        tail = self.tail()
        begun = [entry.txn_first_offset for entry in parse_snapshot(tail[layout.PRODUCERS])]
        first_open = min((offset for offset in begun if offset >= 0), default=-1)
        index = tail[layout.TXN_INDEX]
        whole = len(index) - len(index) % TXN_ENTRY.size
        return Transactions([AbortedTransaction(*one[1:]) for one in TXN_ENTRY.iter_unpack(index[:whole])], first_open)

    def block(self, position: int) -> Block:
        """The piece of batches that has this position."""
        start = position - position % self._block
        return cast(Block, self.pieces.get(self.name, start, min(self._block, self.size - start)))

    def position_of(self, offset: int) -> int:
        """Where the batch begins that holds offset, or the first one after it; `size` if there is none. Headers that
        cannot be are read once more, then KAFKA_STORAGE_ERROR."""
        before = at = self._indexed(offset)
        least = self.entry.base_offset
        while at < self.size:
            head = self.read(at, HEADER)
            size = self._size_of(head, at, least)
            if size == 0:
                self._doubt_headers(before, at)
                return self.position_of(offset)
            least = int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) + 1
            if least > offset:
                return at
            before, at = at, at + size
        return self.size

    def place_of(self, offset: int) -> int:
        """The same for who goes on from there. That no batch holds the offset, since compaction has left a gap, is
        believed when those around are what was written: a base offset that was spoilt looks like that, too."""
        found = self.position_of(offset)
        if found < self.size and int(read_i64_be(self.read(found, HEADER), 0)) <= offset:
            return found
        at, least = self.walk_from(offset), self.entry.base_offset
        while at < self.size and at <= found:
            at, least = self.sound(at, least)
        return self.position_of(offset)

    def walk_from(self, offset: int) -> int:
        """Where to begin so that a batch comes before the one that holds offset, where there is one: only the order
        tells that a base offset is wrong."""
        indexed = self._indexed(offset)
        return self.segment.index.floor_position(indexed - 1) if indexed else 0

    def walk(self, what: tuple[int, ...], offset: int) -> Walk:
        """Through the batches, from before the one that holds offset on; or as far as who wanted the same has come."""
        found = self._walks.pop(what, None)
        if found is None:
            found = Walk(self.walk_from(offset), self.entry.base_offset)
            if len(self._walks) >= WALKS_MAX:
                del self._walks[next(iter(self._walks))]
        self._walks[what] = found
        return found

    def _indexed(self, offset: int) -> int:
        """The last batch that is known to begin at or before the one that holds offset."""
        return 0 if offset <= self.entry.base_offset else self.segment.index.lookup(offset)

    def begins(self, position: int, offset: int) -> bool:
        """Whether the batch there has that base offset."""
        head = self.read(position, HEADER)
        return self._size_of(head, position, self.entry.base_offset) > 0 and int(read_i64_be(head, 0)) == offset

    def sound(self, position: int, least: int) -> tuple[int, int]:
        """(end, next offset) of the batch that begins there, once it is known to be what was written: no offset of it
        is below least, its checksum is right, and what is behind it follows. Else it is read once more; then
        KAFKA_STORAGE_ERROR."""
        end, following = self.one_batch(position)
        self.check(position, end)
        if int(read_i64_be(self.read(position, HEADER), 0)) < least:
            self._doubt_headers(position, position)
        elif end < self.size and self._size_of(self.read(end, HEADER), end, following) == 0:
            self._doubt_headers(position, end)
        else:
            return end, following
        return self.sound(position, least)

    def _size_of(self, head: bytes, at: int, least: int) -> int:
        """Of the batch with this header, no offset of which is below that; 0 if there can be none like that here."""
        if len(head) < HEADER or head[MAGIC_AT] != MAGIC:
            return 0
        base: int = read_i64_be(head, 0)
        last, size = base + int(read_i32_be(head, 23)), 12 + int(read_i32_be(head, 8))
        if not least <= base <= last < self.entry.end_offset or not HEADER <= size <= self.size - at:
            return 0
        return size

    def one_batch(self, position: int) -> tuple[int, int]:
        """(end, next offset) of the batch that begins there and may reach over several blocks, when all of it is here.
        One that ends behind where another one is known to begin is read once more, and one that the cache cannot
        hold; then KAFKA_STORAGE_ERROR."""
        head = self.read(position, HEADER)
        size = self._size_of(head, position, self.entry.base_offset)
        end = position + size
        if size == 0 or self.segment.index.floor_position(end - 1) > position:
            self._doubt_headers(position, position)
            return self.one_batch(position)
        starts = self._starts(position, end)
        needed = len(starts) * room_for(self._block) + self.entry.tail_size
        if needed > self.pieces.bytes_max // 4 * 3:  # the rest is for others
            self._read_again(
                self._starts(position, position + HEADER),
                f"{self.name} cannot be read: the cache has no room for {size} bytes of the batch at {position}. "
                f"Make tapelog.tier.cache.bytes {needed * 3 // 2} or more",
            )
            return self.one_batch(position)
        self.ahead(position, end)
        for start in starts:
            self.block(start)
        return end, int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) + 1

    def _doubt_headers(self, before: int, at: int) -> None:
        """No batch can begin at `at` like the one that is there, or the one before it should not have led there."""
        self._read_again(
            [*self._starts(before, before + HEADER), *self._starts(at, at + HEADER)],
            f"{self.name} is damaged: what begins at {at} is no batch of it. `tape tier verify` tells more",
        )

    def _starts(self, position: int, end: int) -> list[int]:
        """Where the blocks begin that a range lies in, as far as there is one."""
        return list(range(position - position % self._block, min(end, self.size), self._block))

    def _read_again(self, starts: list[int], text: str) -> None:
        """Read these blocks once more, NotHereError meanwhile; if that was done just now, KAFKA_STORAGE_ERROR."""
        again = self.pieces.doubt(self.name, sorted(set(starts)))
        if not again:
            self.pieces.complain(text)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, text)
        for start in again:
            self.pieces.blocks_ahead(self.name, start, min(start + self._block, self.size))
        for start in again:
            self.block(start)

    def here_up_to(self, position: int, limit: int) -> int:
        """Where what is here without a gap from position on ends, or limit if it goes on until there. NotHereError if
        not even position is."""
        self.block(position)
        end = position - position % self._block + self._block
        while end < limit and self.pieces.has(self.name, end):
            end += self._block
        return min(end, limit)

    def blocks(self, position: int, end: int) -> list[Block]:
        """All that a range lies in."""
        return [self.block(start) for start in self._starts(position, end)]

    def read(self, position: int, size: int) -> bytes:
        """A copy of a range."""
        end = min(position + size, self.size)
        return b"".join(views(self.blocks(position, end), position, end))

    def check(self, position: int, end: int) -> int:
        """Up to where batches in a range of whole ones are what was written. If not even the first is, it is read once
        more; then KAFKA_STORAGE_ERROR."""
        blocks = self.blocks(position, end)
        if known_good(blocks, position, end):
            return end
        damaged = first_damaged(blocks, position, end, self.entry.base_offset, self.entry.end_offset)
        if damaged != position:
            return end if damaged < 0 else damaged
        size = self._size_of(self.read(position, HEADER), position, self.entry.base_offset)
        last = min(end, position + size + HEADER) - 1  # the next one's header may be what does not fit
        spoilt = [block.position for block in blocks if block.position <= last]
        del blocks
        self._read_again(
            spoilt,
            f"{self.name} is damaged: the batch at {damaged} is not what was written. `tape tier verify` tells more",
        )
        return self.check(position, end)

    def ahead(self, position: int, end: int) -> int:
        """Have blocks brought here, from position on; returns up to where that could be asked for."""
        start = position - position % self._block
        block_end = end + -end % self._block
        return self.pieces.blocks_ahead(self.name, start, min(block_end, self.size))

    def ahead_of(self, position: int, end: int, before: int, share: int) -> int:
        """The same for somebody who goes on reading, has so many bytes to read before, and may have so many blocks: the
        next one at once, others when a call's worth of them is missing and there is room for it. Returns up to where
        everything is here or asked for."""
        start = known = position - position % self._block
        last = min(end + -end % self._block, self.size)
        while known < last and self.pieces.knows(self.name, known):
            known += self._block
        if known >= last:
            return known
        missing, least = last - known, min(share, self.pieces.run_blocks()) * self._block
        enough, urgent = min(least, self.size - known), before + known - start <= self._block
        if not urgent and (missing < enough or not self.pieces.room_ahead(enough)):
            return known
        if last < self.size and missing > least:
            last -= missing % least
        return self.pieces.blocks_ahead(self.name, known, last)

    def tail_ahead(self) -> bool:
        """The same for its tail."""
        return self.pieces.ahead(self.name, self.entry.log_size, self.entry.tail_size, self._parse_tail)

    def whole_batches(self, position: int, limit: int) -> tuple[int, int]:
        """(end, next offset) of the whole batches in [position, limit), all of which is here; (position, -1) if there
        is none. position is a batch boundary."""
        if limit >= self.size:
            return self.size, self.entry.end_offset
        while True:
            start = max(position, self.segment.index.floor_position(limit - 1))
            at, next_offset = self._walk(start, limit)
            if next_offset >= 0 or start == position:
                return at, next_offset
            limit = start  # the indexed batch itself reaches beyond the limit, or there is none

    def _walk(self, at: int, limit: int) -> tuple[int, int]:
        """(end, next offset) of those that follow each other from there on."""
        next_offset, least = -1, self.entry.base_offset
        while at + HEADER <= limit:
            head = self.read(at, HEADER)
            size = self._size_of(head, at, least)
            if size == 0 or at + size > limit:
                break
            least = next_offset = int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) + 1
            at += size
        return at, next_offset


class _ObjectFile:
    """One section of an object's tail, as a file."""

    def __init__(self, remote: RemoteSegment, suffix: str) -> None:
        self._remote = remote
        self._suffix = suffix
        self.path = remote.name + suffix

    def read(self, position: int, size: int) -> bytes:
        """As a file does it."""
        return self._remote.tail()[_SECTIONS[self._suffix]][position : position + size]

    def close(self) -> None:
        """Nothing is held."""


class _ObjectDisk:
    """What a Segment asks of its disk, for one object."""

    def __init__(self, remote: RemoteSegment) -> None:
        self._remote = remote
        self.handles = Handles(1 << 30)  # nothing is ever open

    def open(self, path: str, *, create: bool = False) -> _ObjectFile:
        return _ObjectFile(self._remote, "." + path.rpartition(".")[2])

    def file_size(self, path: str) -> int:
        return self._remote.entry.section_sizes[_SECTIONS["." + path.rpartition(".")[2]]]

    def read_file(self, path: str) -> bytes:
        return self._remote.tail()[_SECTIONS["." + path.rpartition(".")[2]]]
