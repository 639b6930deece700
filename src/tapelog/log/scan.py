"""Walking a segment's batches when a log is opened: headers always, checksums where they are in doubt.

Called by `recovery`. Hot in its way: a gigabyte of one-record batches has six million of them. Reads large chunks and
makes no object per batch.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from tapelog.log.config import LONG_MAX
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.producer_state import ProducerState, last_of
from tapelog.log.segment import Segment
from tapelog.log.txn_index import AbortedTransaction
from tapelog.log.validation import parse_marker
from tapelog.wire.record_batch import CONTROL, HEADER_SIZE, MAGIC, MAGIC_AT, TRANSACTIONAL, crc_ok

CHUNK_CHECKED: Final = 4 * 1024 * 1024
CHUNK_SKIMMED: Final = 64 * 1024


class Scan:
    """One walk through one segment; where it stands afterwards is in position and next_offset."""

    def __init__(self, segment: Segment, producers: ProducerState, epochs: LeaderEpochs | None) -> None:
        self.segment = segment
        self.producers = producers
        self.epochs = epochs
        self.position = 0
        self.next_offset = segment.base_offset
        self.checked_bytes = 0

    def to_end(self) -> bool:
        """Clean shutdown: learn the end offset from the last index entry on. False if the files disagree."""
        if self.segment.size == 0:
            self.segment.set_newest(-1, self.segment.base_offset, 0)
            return True
        counts = (self.segment.index.stored.count, self.segment.time_index.stored.count)
        self._begin_indexed(LONG_MAX)
        if counts != (self.segment.index.stored.count, self.segment.time_index.stored.count):
            return False
        return self._run(False, LONG_MAX, 0, LONG_MAX)

    def resume_at(self, offset: int) -> bool:
        """Go to the batch that begins with offset, as the indexes lead there, and drop index entries behind it.
        False if they lead elsewhere."""
        self._begin_indexed(offset)
        if not self._run(False, offset, 0, LONG_MAX):
            return False
        transactions = self.segment.txn_index
        entries = transactions.entries()
        while entries and not (entries[-1].last_offset < offset and self._has_marker(entries[-1])):
            transactions.drop_last()
        return self.next_offset == offset

    def check_rest(self, interval: int) -> bool:
        """From here on check every batch, index it, and note producers and epochs. False where it stops short of
        the end of the file."""
        start = self.position
        whole = self._run(True, LONG_MAX, interval, self.next_offset)
        self.checked_bytes = self.position - start
        return whole

    def from_start(self) -> None:
        """Forget the indexes and begin at the first batch."""
        segment = self.segment
        segment.index.clear()
        segment.time_index.clear()
        segment.txn_index.clear()
        segment.set_newest(-1, segment.base_offset, 0)
        self.position = 0
        self.next_offset = segment.base_offset

    def complete_indexes(self, interval: int) -> None:
        """A segment below the recovery point: its batches are true, its indexes perhaps not complete."""
        self._begin_indexed(LONG_MAX)
        self._run(False, LONG_MAX, interval, LONG_MAX)
        self.segment.seal()

    def replay_producers(self, position: int, first: int, stop: int) -> None:
        """Note the producers of batches in [first, stop), from the batch at position on."""
        newest, newest_offset, since = self.segment.newest()
        self.position = position
        self._run(False, stop, 0, first)
        self.segment.set_newest(newest, newest_offset, since)

    def _begin_indexed(self, before: int) -> None:
        """Stand at the batch of the last good index entry below an offset, with the greatest timestamp up to there;
        index entries behind it are dropped.

        What was indexed after the last checkpoint may have been damaged by a power cut in any way. Those entries lie
        behind the durable ones: so, from the end backwards, the first that fits its batch ends the search."""
        segment = self.segment
        index, time_index = segment.index, segment.time_index
        count, limit, found = index.stored.count, before, False
        while count and not found:
            offset, position = index.entry(count - 1)
            found = offset < before and self._is_indexed(offset, position)
            if found:
                self.position = position
                limit = min(limit, offset + 1)
            else:
                count -= 1
        index.stored.cut(count)
        if before == LONG_MAX:
            limit = LONG_MAX  # the last entry of a finished time index may be newer than the last of the other
        elif not found:
            limit = segment.base_offset
        count = time_index.stored.count
        while count:
            timestamp, offset = time_index.stored_entry(count - 1)
            if offset < limit and self._has_timestamp(timestamp, offset):
                break
            count -= 1
        time_index.cut(count)
        newest, newest_offset = time_index.last()
        segment.set_newest(newest, newest_offset, 0)
        if found:
            self.next_offset = int(read_i64_be(segment.file().read(self.position, 8), 0))

    def _is_indexed(self, offset: int, position: int) -> bool:
        """Whether the batch at position ends with offset. (The first batch never has an entry.)"""
        segment = self.segment
        if not 0 < position <= segment.size - HEADER_SIZE:
            return False
        return _is_batch_ending(segment.file().read(position, HEADER_SIZE), offset)

    def _has_timestamp(self, timestamp: int, offset: int) -> bool:
        """Whether the batch that ends with offset has that greatest timestamp."""
        head = self._batch_with(offset)
        return head is not None and int(read_i64_be(head, 35)) == timestamp and _is_batch_ending(head, offset)

    def _has_marker(self, aborted: AbortedTransaction) -> bool:
        """Whether the last offset of this transaction is a marker of its producer."""
        head = self._batch_with(aborted.last_offset)
        if head is None or not read_i16_be(head, 21) & CONTROL:
            return False
        return int(read_i64_be(head, 43)) == aborted.producer_id and _is_batch_ending(head, aborted.last_offset)

    def _batch_with(self, offset: int) -> bytes | None:
        """The header of the batch that holds offset."""
        segment = self.segment
        if offset < segment.base_offset:
            return None
        position = segment.position_of(offset)
        head = segment.file().read(position, HEADER_SIZE)
        return head if len(head) == HEADER_SIZE and position + HEADER_SIZE <= segment.size else None

    def _run(self, check: bool, stop: int, interval: int, replay_from: int) -> bool:
        """Walk from position until a batch begins at or after stop, or the file ends: True. A batch that is torn,
        damaged (if check) or out of order: False, and position stays in front of it.

        With an interval, index entries are added; producers of batches from replay_from on are noted."""
        segment = self.segment
        file, size = segment.file(), segment.size
        newest, newest_offset, since = segment.newest()
        index, time_index, epochs = segment.index, segment.time_index, self.epochs
        position, expected = self.position, self.next_offset
        chunk_size = CHUNK_CHECKED if check else CHUNK_SKIMMED
        chunk, start, chunk_end = b"", position, position
        whole = True
        while position < size:
            at = position - start
            if position + HEADER_SIZE > chunk_end:
                chunk = file.read(position, chunk_size)
                start, at, chunk_end = position, 0, position + len(chunk)
                if len(chunk) < HEADER_SIZE:
                    whole = False
                    break
            base: int = read_i64_be(chunk, at)
            if base >= stop:
                break
            length: int = 12 + int(read_i32_be(chunk, at + 8))
            delta: int = read_i32_be(chunk, at + 23)
            end = position + length
            if length < HEADER_SIZE or end > size or chunk[at + MAGIC_AT] != MAGIC or base < expected or delta < 0:
                whole = False
                break
            if check:
                if end > chunk_end:
                    chunk = file.read(position, max(chunk_size, length))
                    start, at, chunk_end = position, 0, position + len(chunk)
                if end > chunk_end or not crc_ok(chunk, at, at + length):
                    whole = False
                    break
            last = base + delta
            timestamp: int = read_i64_be(chunk, at + 35)
            if timestamp > newest:
                newest = timestamp
                newest_offset = last
            if interval > 0 and since > interval:
                index.append(last, position)
                time_index.append(newest, newest_offset)
                since = 0
            since += length
            if epochs is not None and check:
                leader_epoch: int = read_i32_be(chunk, at + 12)
                if leader_epoch > epochs.latest:
                    epochs.assign(leader_epoch, base)
            if base >= replay_from and read_i64_be(chunk, at + 43) >= 0:
                self._note(
                    file.read(position, length) if end > chunk_end else chunk, at, end > chunk_end, length, check
                )
            expected = last + 1
            position = end
        self.position, self.next_offset = position, expected
        segment.set_newest(newest, newest_offset, since)
        return whole

    def _note(self, chunk: bytes, at: int, own: bool, length: int, index_aborted: bool) -> None:
        """Let the producers know of a batch; of an aborted transaction the index, too."""
        if own:
            at = 0
        base: int = read_i64_be(chunk, at)
        delta: int = read_i32_be(chunk, at + 23)
        attributes: int = read_i16_be(chunk, at + 21)
        timestamp: int = read_i64_be(chunk, at + 35)
        producer_id: int = read_i64_be(chunk, at + 43)
        epoch: int = read_i16_be(chunk, at + 51)
        if not attributes & CONTROL:
            first_sequence: int = read_i32_be(chunk, at + 53)
            last_sequence = last_of(first_sequence, delta) if first_sequence >= 0 else -1
            transactional = attributes & TRANSACTIONAL != 0
            self.producers.add(producer_id, epoch, last_sequence, base + delta, delta, timestamp, transactional)
            return
        marker = parse_marker(chunk, at, at + length)
        if marker is None:
            return
        aborted, coordinator_epoch = marker
        done = self.producers.add_marker(producer_id, epoch, coordinator_epoch, base, timestamp, aborted)
        if done is not None and aborted and index_aborted:
            stable = self.producers.last_stable_after(done)
            self.segment.txn_index.append(AbortedTransaction(producer_id, done.first_offset, base, stable))


def _is_batch_ending(head: bytes, offset: int) -> bool:
    """Whether this looks like the header of a batch whose last record has that offset."""
    if len(head) < HEADER_SIZE or head[MAGIC_AT] != MAGIC:
        return False
    return int(read_i64_be(head, 0)) + int(read_i32_be(head, 23)) == offset
