"""A segment in the tier, read like one on disk: the same indexes, the same ways to find a batch.

`RemoteSegment` has a `segment.Segment` whose files are ranges of an object. Reading from them raises NotHereError
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
from tapelog.log.tier.buffers import Block
from tapelog.log.tier.checking import first_damaged, known_good, views
from tapelog.log.tier.manifest import SegmentEntry
from tapelog.log.tier.pieces import Pieces
from tapelog.log.txn_index import ENTRY as TXN_ENTRY
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.errors import ErrorCode, KafkaError

_SECTIONS: Final = {
    names.INDEX: layout.OFFSET_INDEX,
    names.TIME_INDEX: layout.TIME_INDEX,
    names.TXN_INDEX: layout.TXN_INDEX,
}
Tail = tuple[bytes, ...]


class Transactions:
    """Of one segment: those that were aborted in it, in order of their markers, and where the oldest one began that was
    still open at its end (-1: there was none)."""

    __slots__ = ("aborted", "first_open")

    def __init__(self, aborted: list[AbortedTransaction], first_open: int) -> None:
        self.aborted = aborted
        self.first_open = first_open


class RemoteSegment:
    """One entry of a manifest, ready to be read. Objects of it may be dropped at any time: they hold no pieces."""

    def __init__(self, pieces: Pieces, prefix: str, entry: SegmentEntry) -> None:
        self.pieces = pieces
        self.name = prefix + entry.name
        self.entry = entry
        self.size = entry.log_size
        self._block = pieces.block_bytes
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
        """Where the batch begins that holds offset, or the first one after it; `size` if there is none."""
        at = self.segment.index.lookup(offset)
        while at < self.size:
            head = self.read(at, HEADER)
            if int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) >= offset:
                return at
            at += self._size_of(head)
        return self.size

    def _size_of(self, head: bytes) -> int:
        """Of the batch with this header."""
        size = 12 + int(read_i32_be(head, 8))
        if size < HEADER:
            raise layout.LayoutError(f"{self.name}: no batch where one should begin")
        return size

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
        first = position - position % self._block
        return [self.block(start) for start in range(first, end, self._block)]

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
        damaged = first_damaged(blocks, position, end)
        if damaged != position:
            return end if damaged < 0 else damaged
        last = min(end, position + self._size_of(self.read(position, HEADER))) - 1
        spoilt = [block.position for block in blocks if block.position <= last]
        del blocks
        again = [start for start in spoilt if self.pieces.doubt(self.name, start)]
        if again:
            return self.check(position, end)  # NotHereError
        text = f"{self.name} is damaged: the batch at {damaged} has the wrong checksum. `tape tier verify` tells more"
        self.pieces.complain(text)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, text)

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
        at = start = max(position, self.segment.index.floor_position(limit - 1))
        next_offset = -1
        while at + HEADER <= limit:
            head = self.read(at, HEADER)
            end = at + self._size_of(head)
            if end > limit:
                break
            next_offset = int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) + 1
            at = end
        if next_offset < 0 and start > position:  # the indexed batch itself reaches beyond the limit
            next_offset = int(read_i64_be(self.read(start, 8), 0))
        return at, next_offset


class _ObjectFile:
    """The batches of an object, or one section of its tail, as a file."""

    def __init__(self, remote: RemoteSegment, suffix: str) -> None:
        self._remote = remote
        self._suffix = suffix
        self.path = remote.name + suffix

    def read(self, position: int, size: int) -> bytes:
        """As a file does it."""
        if self._suffix == names.LOG:
            return self._remote.read(position, size)
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
