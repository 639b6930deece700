"""Reading a log where only the tier has it: batches, aborted transactions, look-ups by time, what a new replica needs.

Every function here may raise NotHereError (wait for its piece and call again), KafkaError, or UnreadableError. They
answer as the log itself would for what it has.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i64_be

from tapelog.log.checkpoints import CheckpointError
from tapelog.log.log import Log
from tapelog.log.memory_region import MemoryRegion
from tapelog.log.snapshots import SnapshotError, parse_snapshot
from tapelog.log.tier import times
from tapelog.log.tier.buffers import Block
from tapelog.log.tier.checking import views
from tapelog.log.tier.pieces import NotHereError, Pieces
from tapelog.log.tier.remote import RemoteSegment
from tapelog.log.tier.view import Mark, View
from tapelog.log.timestamps import Found
from tapelog.log.trim import Seed
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import HEADER_SIZE, RECORD_COUNT_AT

AHEAD_BLOCKS_MAX: Final = 8
"""Blocks read in advance for one reader, once it has shown that it goes on reading."""


class RemoteRegion(MemoryRegion):
    """Whole batches from the tier, sent from the blocks they came in; or a copy of them, where slow takers already hold
    as much as they may."""

    def __init__(self, pieces: Pieces, blocks: list[Block], start: int, end: int, next_offset: int) -> None:
        lent = pieces.lendable(blocks)
        found = views(blocks, start, end)
        super().__init__(found if lent else [memoryview(b"".join(found))])
        self._blocks = blocks if lent else []
        self.next_offset = next_offset
        """Every record in it has a smaller offset."""
        for block in self._blocks:
            block.lend()

    def release(self) -> None:
        super().release()
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            block.give_back()

    def __del__(self) -> None:
        if self._blocks:
            self._blocks[0].give_back_later(self._blocks)


def read(view: View, log: Log, offset: int, max_bytes: int, upper: int, min_one: bool) -> RemoteRegion | None:
    """Whole batches from the one that holds offset on, as far as they are here and none reaches to upper, or from
    below the log's own part into that; None if there is no room for one. At most max_bytes, except that min_one allows
    a first batch of any size."""
    remote = view.segment_with(offset)
    if offset < log.local_start_offset:  # else it is to be mended
        upper = min(upper, log.local_start_offset)
    entry, mark = remote.entry, view.marks.get(offset)
    remote.tail_ahead()
    position = _beginning(view, remote, offset)
    if position >= remote.size:
        return None
    limit = min(position + max_bytes, remote.size)
    if entry.end_offset > upper:
        limit = min(limit, remote.position_of(upper))
        if limit <= position:
            return None
    here = remote.here_up_to(position, max(limit, position + 1))
    end, next_offset = remote.whole_batches(position, min(here, limit))
    if end == position:
        end, next_offset = remote.one_batch(position)
        if end - position > max_bytes and not min_one:
            return None
    good = remote.check(position, end)
    if good < end:
        end, next_offset = remote.whole_batches(position, good)
    region = RemoteRegion(view.pieces, remote.blocks(position, end), position, end, next_offset)
    block = view.pieces.block_bytes
    ahead = block if mark is None else min(mark.ahead * 2, AHEAD_BLOCKS_MAX * block)
    view.mark(next_offset, Mark(entry.name, end, ahead))
    view.pieces.touch(remote.name, min(end, remote.size - 1) // block * block)
    _read_ahead(view, log, remote, end, ahead)
    return region


def first_with_records(view: View, log: Log, offset: int, upper: int) -> int:
    """Where a consumer's answer begins that asks for offset, below upper: there or, where compaction has once left a
    gap or batches without records, behind those. The local start, or more, if the tier has nothing for it."""
    while offset < min(upper, log.local_start_offset):
        remote = view.segment_with(offset)
        remote.tail_ahead()
        at = _beginning(view, remote, offset)
        while at < remote.size:
            head = remote.read(at, HEADER_SIZE)
            base: int = read_i64_be(head, 0)
            if base >= upper or int(read_i32_be(head, RECORD_COUNT_AT)):
                return max(base, offset)
            at = remote.sound(at, remote.entry.base_offset)[0]
        offset = remote.entry.end_offset
    return offset


def _beginning(view: View, remote: RemoteSegment, offset: int) -> int:
    """Where the batch begins that has the offset, or else the next one; the segment's size if there is none."""
    mark = view.marks.get(offset)
    if mark is not None and mark.name == remote.entry.name and remote.begins(mark.position, offset):
        return mark.position
    return remote.place_of(offset)


def _read_ahead(view: View, log: Log, remote: RemoteSegment, position: int, size: int) -> None:
    """Have what follows brought here, across segments, as far as there is room."""
    share = view.pieces.share(view.prefix)
    stop, before = position + min(size, share * view.pieces.block_bytes), 0
    try:
        while remote.ahead_of(position, stop, before, share) >= min(stop, remote.size) and stop > remote.size:
            if remote.entry.end_offset >= log.local_start_offset:
                return
            entry = next(view.entries(remote.entry.end_offset), None)
            if entry is None:
                return
            stop, before = stop - remote.size, before + remote.size - position
            remote, position = view.segment(entry), 0
            if not remote.tail_ahead():
                return
    except NotHereError:
        return  # a page of the manifest: on its way now


def aborted(view: View, log: Log, start: int, upper: int) -> list[AbortedTransaction]:
    """Aborted transactions that have records in [start, upper), which begins in the tier. A transaction may end many
    segments later: it is followed while one that began below upper is open at a segment's end."""
    found: dict[AbortedTransaction, None] = {}
    for entry in view.entries(start):
        if entry.first_offset >= log.local_start_offset:
            break
        transactions = view.transactions(entry)
        for one in transactions.aborted:
            if one.last_offset >= start and one.first_offset < upper:
                found[one] = None
        if entry.end_offset >= upper and not 0 <= transactions.first_open < upper:
            return list(found)
    found.update(dict.fromkeys(log.aborted_transactions(max(start, log.local_start_offset), upper)))
    return list(found)


def first_at_or_after(view: View, log: Log, timestamp: int) -> Found | None:
    """(timestamp, offset, leader epoch) of the first record of the whole log at least as late."""
    offset = log.start_offset
    while True:
        entry = view.first_with_time(timestamp, offset)
        if entry is None or entry.first_offset >= log.local_start_offset:
            return log.offset_for_timestamp(timestamp)
        offset = max(offset, entry.first_offset)
        found = times.first_at_or_after(view.segment(entry), timestamp, offset)
        if found is not None:
            return found if found[1] < log.local_start_offset else log.offset_for_timestamp(timestamp)
        offset = entry.end_offset


def greatest(view: View, log: Log) -> Found | None:
    """(timestamp, offset, leader epoch) of the first record of the whole log that has the greatest timestamp."""
    best, ranges = log.max_timestamp_offset(), [(log.start_offset, log.local_start_offset)]
    while ranges:
        offset, end = ranges.pop()
        newest = view.greatest_timestamp(offset, end)
        entry = view.first_with_time(newest, offset) if newest >= 0 and (best is None or newest >= best[0]) else None
        if entry is None or entry.first_offset >= end:
            continue
        found = times.greatest(view.segment(entry), max(offset, entry.first_offset))
        if found is not None and (best is None or (found[0], -found[1]) > (best[0], -best[1])):
            best = found
        if found is None or found[0] < newest:  # gone, or before the log's start: others may be later than what it has
            ranges += [(entry.end_offset, end), (offset, entry.first_offset)]
    return best


def seed(view: View, log_start: int, local_start: int) -> tuple[int, Seed]:
    """What a replica needs that begins where its leader begins to have everything itself: from which offset on it can
    go on itself, and what it must know of what is below."""
    view.settled()
    remote = view.segment_with(local_start - 1)
    try:
        parse_snapshot(remote.snapshot())
        return remote.entry.end_offset, Seed(log_start, remote.epochs(), remote.snapshot())
    except (SnapshotError, CheckpointError) as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{remote.name}: {error}") from error
