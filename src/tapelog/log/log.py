"""One partition's log: validate and append batches, make them durable, read them back.

The node core calls `append` for each batch, `write` once per wake-up, `begin_flush`/`end_flush` around a flush
round, `read` for fetches. Offsets are given at append; bytes are visible to reads after `write` and count as
durable after `end_flush`. What a failed write had queued is taken back completely.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i32_be, write_i64_be

from tapelog.base.ports import Clock, Disk, DiskError
from tapelog.log import names, recovery, trim, validation
from tapelog.log.checkpoints import render_epochs
from tapelog.log.config import LONG_MAX, LogConfig
from tapelog.log.producer_state import last_of
from tapelog.log.queue import Group
from tapelog.log.segment import UNKNOWN, Segment
from tapelog.log.snapshots import render_snapshot, write_snapshot
from tapelog.log.stored import FlushTicket as FlushTicket
from tapelog.log.stored import StoredLog
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.crc import crc32c
from tapelog.wire.record_batch import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    COMPRESSION_MASK,
    CONTROL,
    CRC_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
    TRANSACTIONAL,
)

# who appends
CLIENT: Final = 0
REPLICATION: Final = 1
COORDINATOR: Final = 2

# a body of at least this many bytes is written from the request's frame instead of being copied
LARGE: Final = 8192
RELATIVE_MAX: Final = 2147483647
# attributes that call for a closer look
ODD: Final = 0x68  # LOG_APPEND_TIME, CONTROL or DELETE_HORIZON
CODEC_MAX: Final = 4


class Appended:
    """Where a batch went. For a duplicate: where its original is."""

    def __init__(
        self, base_offset: int, last_offset: int, log_append_time_ms: int, log_start_offset: int, duplicate: bool
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.duplicate = duplicate


class Log(StoredLog):
    """See the module. Open with `Log.open`."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic: str,
        partition: int,
        config: LogConfig,
        clock: Clock,
        loaded: recovery.Loaded,
    ) -> None:
        super().__init__(disk, directory, topic, partition, config, clock, loaded)
        self._rolled_at_ms = clock.wall_ms()
        self._segment_bytes_most = LONG_MAX
        self._segment_bytes = config.segment_bytes
        self._groups: list[Group] = []
        self._group: Group = Group(-1)
        self._base = 0
        self._position = 0
        self._index_count = 0
        self._begin_queue()

    @staticmethod
    def open(
        disk: Disk,
        directory: str,
        *,
        topic: str,
        partition: int,
        config: LogConfig,
        clock: Clock,
        recovery_point: int = 0,
        start_offset: int = 0,
        local_start: int = -1,
        clean: bool = False,
        topic_id: bytes | None = None,
        sync: bool = True,
    ) -> Log:
        """Open the log in directory, or create it there.

        With clean=False everything from recovery_point on is checked and a torn tail is cut off; the rest of that
        tail is made durable before this returns (sync=False: by the caller's sync_all). A created log's directory is
        durable after the caller's sync_all. start_offset: where the log begins, if later than its first segment.
        local_start: with a tier, where it begins here (-1: there is nothing below that); what is found below is not
        needed, and start_offset says where the whole begins.
        """
        loaded = recovery.load(
            disk, directory, config, recovery_point, start_offset, clean, topic_id, sync, local_start
        )
        return Log(disk, directory, topic, partition, config, clock, loaded)

    # --- append ------------------------------------------------------------------------------------------------

    def append(self, buf: bytes, start: int, end: int, leader_epoch: int, origin: int = CLIENT) -> Appended:
        """Queue the one batch in buf[start:end] (REPLICATION: one or more); give it its offsets.

        Raises KafkaError, and then nothing has changed.
        """
        if origin == REPLICATION:
            return self._append_replicated(buf, start, end, leader_epoch)
        config = self.config
        size = end - start
        if size < HEADER_SIZE or int(read_i32_be(buf, start + LENGTH_AT)) != size - LOG_OVERHEAD:
            raise validation.wrong_size(buf, start, end)
        if buf[start + MAGIC_AT] != MAGIC:
            raise validation.wrong_magic(buf[start + MAGIC_AT])
        if size > config.max_message_bytes and origin == CLIENT:
            raise validation.too_large(size, config)
        body: bytes | memoryview = (
            buf[start + ATTRIBUTES_AT : end] if size < LARGE else memoryview(buf)[start + ATTRIBUTES_AT : end]
        )
        crc: int = read_i32_be(buf, start + CRC_AT)
        if crc32c(body) != (crc & 0xFFFFFFFF):
            raise validation.wrong_crc()
        attributes: int = read_i16_be(buf, start + ATTRIBUTES_AT)
        delta: int = read_i32_be(buf, start + LAST_OFFSET_DELTA_AT)
        max_timestamp: int = read_i64_be(buf, start + MAX_TIMESTAMP_AT)
        now_ms = self.clock.wall_ms()
        if (
            delta < 0
            or int(read_i32_be(buf, start + RECORD_COUNT_AT)) != delta + 1
            or attributes & ODD
            or attributes & COMPRESSION_MASK > CODEC_MAX
            or read_i64_be(buf, start) != 0
            or max_timestamp - now_ms > config.timestamp_after_max_ms
            or config.timestamp_before_max_ms != LONG_MAX
        ):
            validation.check_header(buf, start, attributes, delta, max_timestamp, now_ms, config, origin == CLIENT)
        if config.rewrites and not attributes & CONTROL:
            rewritten = validation.rewrite(buf, start, end, now_ms, config, origin == CLIENT)
            if rewritten is not None:
                return self._queue(rewritten, 0, rewritten[ATTRIBUTES_AT:], leader_epoch, now_ms, origin)
        return self._queue(buf, start, body, leader_epoch, now_ms, origin)

    def _queue(
        self, buf: bytes, start: int, body: bytes | memoryview, leader_epoch: int, now_ms: int, origin: int
    ) -> Appended:
        """Queue a batch that is acceptable in itself, unless its producer state says otherwise. body: the part of it
        that its checksum covers."""
        config = self.config
        size = len(body) + ATTRIBUTES_AT
        if size > config.segment_bytes:
            raise validation.larger_than_segment(size, config)
        attributes: int = read_i16_be(buf, start + ATTRIBUTES_AT)
        delta: int = read_i32_be(buf, start + LAST_OFFSET_DELTA_AT)
        max_timestamp: int = read_i64_be(buf, start + MAX_TIMESTAMP_AT)
        producer_id: int = read_i64_be(buf, start + PRODUCER_ID_AT)
        epoch: int = read_i16_be(buf, start + PRODUCER_EPOCH_AT)
        last_sequence = -1
        if producer_id >= 0 and not attributes & CONTROL:
            first_sequence: int = read_i32_be(buf, start + BASE_SEQUENCE_AT)
            if epoch < 0 or first_sequence < 0:
                validation.check_unsequenced(buf, start, origin != CLIENT, self.producers)
            else:
                last_sequence = last_of(first_sequence, delta)
                transactional = attributes & TRANSACTIONAL != 0
                seen = self.producers.check(producer_id, epoch, first_sequence, last_sequence, transactional)
                if seen is not None:
                    stamp = seen.timestamp if config.log_append_time else -1
                    return Appended(seen.last_offset - seen.delta, seen.last_offset, stamp, self.start_offset, True)
        elif attributes & (CONTROL | TRANSACTIONAL):
            validation.check_marker(buf, start, start + size, self.producers)

        base = self.end_offset
        last = base + delta
        self._place(base, last, size, max_timestamp, now_ms)
        if producer_id >= 0:
            self._note_producer(buf, start, start + size, base, producer_id, epoch, last_sequence, attributes)
        if leader_epoch > self.leader_epoch_cache.latest:
            self.leader_epoch_cache.assign(leader_epoch, base)
        pieces = self._group.pieces
        pieces.append(prefix(base, size - LOG_OVERHEAD, leader_epoch, read_i32_be(buf, start + CRC_AT)))
        pieces.append(body)
        self.end_offset = last + 1
        append_time = now_ms if config.log_append_time and not attributes & CONTROL else -1
        return Appended(base, last, append_time, self.start_offset, False)

    def _place(self, base: int, last: int, size: int, max_timestamp: int, now_ms: int) -> None:
        """Decide on a roll and on an index entry for a batch about to be queued, and count it."""
        config = self.config
        group = self._group
        position = self._position
        if position > 0 and (
            position + size > self._segment_bytes
            or last - self._base > RELATIVE_MAX
            or self._index_count * 12 + 24 > config.segment_index_bytes
            or self._waited_ms(group, max_timestamp, now_ms) > config.segment_ms - config.segment_jitter_ms
        ):
            group = self._queue_roll(self.end_offset)  # not base: segments follow each other without a gap
            position = 0
        if position == 0:
            group.first_timestamp = max_timestamp
        if max_timestamp > group.max_timestamp:
            group.max_timestamp = max_timestamp
            group.max_timestamp_offset = last
        since = group.since_index
        if since > config.index_interval_bytes:
            group.index_entries.append((last, position, group.max_timestamp, group.max_timestamp_offset))
            self._index_count += 1
            since = 0
        group.since_index = since + size
        group.size += size
        group.count += 1
        self._position = position + size

    def _waited_ms(self, group: Group, max_timestamp: int, now_ms: int) -> int:
        """How old the segment is for segment.ms: by its records' timestamps where they have any."""
        if group.first_timestamp == UNKNOWN:
            try:
                group.first_timestamp = self.active.first_timestamp()
            except DiskError:  # by the clock, then; the write that follows finds out whether the disk works
                group.first_timestamp = -1
        if group.first_timestamp >= 0 and max_timestamp >= 0:
            return max_timestamp - group.first_timestamp
        return now_ms - self._rolled_at_ms

    def _queue_roll(self, base: int) -> Group:
        group = Group(base)
        group.snapshot = render_snapshot(self.producers)
        self._groups.append(group)
        self._group = group
        self._base = base
        self._position = 0
        self._index_count = 0
        return group

    def _note_producer(
        self,
        buf: bytes,
        start: int,
        end: int,
        base: int,
        producer_id: int,
        epoch: int,
        last_sequence: int,
        attributes: int,
    ) -> None:
        """Let the producer state know of a batch that has been placed."""
        producers = self.producers
        max_timestamp: int = read_i64_be(buf, start + MAX_TIMESTAMP_AT)
        if not attributes & CONTROL:
            delta: int = read_i32_be(buf, start + LAST_OFFSET_DELTA_AT)
            transactional = attributes & TRANSACTIONAL != 0
            producers.add(producer_id, epoch, last_sequence, base + delta, delta, max_timestamp, transactional)
            return
        marker = validation.parse_marker(buf, start, end)
        if marker is not None:
            aborted, coordinator_epoch = marker
            done = producers.add_marker(producer_id, epoch, coordinator_epoch, base, max_timestamp, aborted)
            if done is not None and aborted:
                stable = producers.last_stable_after(done)
                self._group.aborted.append(AbortedTransaction(producer_id, done.first_offset, base, stable))

    def _append_replicated(self, buf: bytes, start: int, end: int, leader_epoch: int) -> Appended:
        """Queue the leader's batches as they are, offsets and epochs included. A partial last one is left out."""
        now_ms = self.clock.wall_ms()
        first, last = self.end_offset, self.end_offset - 1
        oldest = self.leader_epoch_cache.latest
        for at, size in validation.check_replicated(buf, start, end, self.end_offset, oldest, leader_epoch):
            base: int = read_i64_be(buf, at)
            delta: int = read_i32_be(buf, at + LAST_OFFSET_DELTA_AT)
            if at == start:
                first = base
            last = base + delta
            self._place(base, last, size, read_i64_be(buf, at + MAX_TIMESTAMP_AT), now_ms)
            producer_id: int = read_i64_be(buf, at + PRODUCER_ID_AT)
            if producer_id >= 0:
                epoch: int = read_i16_be(buf, at + PRODUCER_EPOCH_AT)
                first_sequence: int = read_i32_be(buf, at + BASE_SEQUENCE_AT)
                last_sequence = last_of(first_sequence, delta) if first_sequence >= 0 else -1
                attributes: int = read_i16_be(buf, at + ATTRIBUTES_AT)
                self._note_producer(buf, at, at + size, base, producer_id, epoch, last_sequence, attributes)
            batch_epoch: int = read_i32_be(buf, at + LEADER_EPOCH_AT)
            if batch_epoch > self.leader_epoch_cache.latest:
                self.leader_epoch_cache.assign(batch_epoch, base)
            self._group.pieces.append(buf[at : at + size] if size < LARGE else memoryview(buf)[at : at + size])
            self.end_offset = last + 1
        return Appended(first, last, -1, self.start_offset, False)

    # --- write and flush ---------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write everything queued: one vectored write per segment touched.

        On DiskError everything queued is undone — offsets, producer state, segments — and the error propagates.
        """
        if self.written_end == self.end_offset:
            return
        active, size, count = self.active, self.active.size, len(self.segments.items)
        before = (active.since_index, active.max_timestamp, active.max_timestamp_offset)
        try:
            for group in self._groups:
                if group.roll_at >= 0:
                    self._roll(group.roll_at, group.snapshot)
                if group.pieces:
                    self.active.file().write(group.pieces)
                    group.apply(self.active)
                    self.bytes_since_checkpoint += group.size
                    self.batches_since_checkpoint += group.count
        except DiskError:
            self._undo(active, size, count, before)
            raise
        self.producers.commit()
        self.written_end = self.end_offset
        self.note_unflushed(self.active)
        self._begin_queue()

    def _begin_queue(self) -> None:
        """An empty queue behind the active segment's end."""
        active = self.active
        group = Group(-1)
        group.start_from(active)
        self._group = group
        self._groups = [group]
        self._base = active.base_offset
        self._position = active.size
        self._index_count = active.index.count()

    def _undo(self, active: Segment, size: int, count: int, before: tuple[int, int, int]) -> None:
        """Take back a failed write: new segments go, the old active one is cut to its size."""
        for segment in self.segments.items[count:]:
            segment.close()
        self.segments.remove_from(count)
        for group in self._groups:
            if group.roll_at >= 0:
                for suffix in (names.LOG, names.INDEX, names.TIME_INDEX, names.TXN_INDEX, names.SNAPSHOT):
                    self.disk.remove(self.path_of(group.roll_at, suffix))
        self.active = active
        if active.size != size:
            active.truncate(self.written_end, size)
            self.note_unflushed(active)
        active.since_index, active.max_timestamp, active.max_timestamp_offset = before
        self.producers.undo()
        self.leader_epoch_cache.truncate_from_end(self.written_end)
        self.end_offset = self.written_end
        self.unflushed = [segment for segment in self.unflushed if segment.base_offset <= active.base_offset]
        self._begin_queue()

    def roll(self) -> None:
        """Begin a new segment now (nothing may be queued); does nothing if the active one is empty."""
        assert self.written_end == self.end_offset
        if self.active.size:
            self._roll(self.end_offset, render_snapshot(self.producers))
            self._begin_queue()

    def _roll(self, base: int, snapshot: bytes) -> None:
        """Close the active segment to appends and begin one at base."""
        self.active.seal()
        write_snapshot(self.disk, self.path_of(base, names.SNAPSHOT), snapshot)
        segment = Segment.create(self.disk, self.directory, base)
        self.note_unflushed(self.active)
        self.segments.add(segment)
        self.active = segment
        self.names_unflushed = True
        self._rolled_at_ms = self.clock.wall_ms()

    # --- the rest: trim.py does the work ---------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Cut off everything from offset on (a batch that spans it goes whole); False if nothing was there."""
        return trim.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the log begins and ends at offset."""
        trim.truncate_fully(self, offset)

    def increment_start_offset(self, offset: int) -> bool:
        """DeleteRecords: nothing below offset is served any more. False if it was so already."""
        return trim.increment_start_offset(self, offset)

    def delete_segments(self, plan: list[Segment]) -> None:
        """Carry out such a plan: rename now, remove in the background."""
        trim.delete_segments(self, plan)

    def update_config(self, config: LogConfig) -> None:
        """From the next append on. A log that has no tier any more begins where it does here."""
        self.config = config
        self._segment_bytes = min(config.segment_bytes, self._segment_bytes_most)
        if not config.remote and self.local_start_offset > self.start_offset:
            self.increment_start_offset(self.local_start_offset)

    def roll_beyond(self, size: int) -> None:
        """From the next append on segments roll at this size, if segment.bytes is more: so that some can go."""
        self._segment_bytes_most = size
        self._segment_bytes = min(self.config.segment_bytes, size)

    def after_truncation(self, end_offset: int) -> None:
        """Internal to the log package: the segments were cut back; everything else follows."""
        self.active = self.segments.items[-1]
        self.end_offset = end_offset
        self.written_end = end_offset
        self.durable_end = min(self.durable_end, end_offset)
        self.checkpointed_end = min(self.checkpointed_end, end_offset)
        self.generation += 1
        self.damaged = []  # what is left of it will be found again
        self.unflushed = [segment for segment in self.unflushed if segment in self.segments.items]
        self.note_unflushed(self.active)
        self.names_unflushed = True
        self._begin_queue()

    def adopt(self, other: Log) -> None:
        """Go on with the files of another log, a copy of this one, which are durable (`relocation`). Nothing may be
        queued. Readers that hold regions of the old files go on."""
        assert self.written_end == self.end_offset == other.end_offset
        newest = self.active.newest()
        for segment in self.segments.items:
            segment.release()
        self.disk, self.directory = other.disk, other.directory
        self.segments, self.active = other.segments, other.active
        self.active.set_newest(*newest)
        self.durable_end = self.checkpointed_end = self.end_offset
        self.bytes_since_checkpoint = self.batches_since_checkpoint = 0
        self.generation += 1
        self.unflushed = []
        self.names_unflushed = False
        self.forget_opened()
        self.note_starts()
        self._begin_queue()

    def close(self, sync: bool = True) -> None:
        """Complete the indexes, take a snapshot, flush (sync=False: the caller's sync_all does): the next open with
        clean=True reads no batch."""
        if self.closed:
            return
        self.write()
        self.active.seal()
        snapshot = render_snapshot(self.producers)
        write_snapshot(self.disk, self.path_of(self.end_offset, names.SNAPSHOT), snapshot)
        if self.leader_epoch_cache.dirty:
            epochs = render_epochs(self.leader_epoch_cache.entries())
            self.disk.replace_file(f"{self.directory}/{names.LEADER_EPOCHS}", epochs)
            self.leader_epoch_cache.dirty = False
        if sync:
            self.flush()
        self.close_files()

    def invariants(self) -> None:
        """Assert what must always hold; for tests and simulation."""
        assert 0 <= self.start_offset <= self.end_offset
        assert self.written_end <= self.end_offset
        assert self.durable_end <= self.written_end
        assert self.active is self.segments.items[-1]
        assert self.active.base_offset <= self.written_end
        assert self.local_start_offset == max(self.start_offset, self.segments.items[0].base_offset)
        assert self._position == self.active.size + self._group.size or len(self._groups) > 1
        for segment in self.segments.items:
            assert segment.size >= 0


def prefix(base_offset: int, length: int, leader_epoch: int, crc: int) -> bytes:
    """The first 21 bytes of a batch: what lies in front of the part that its checksum covers."""
    writer = BytesWriter()
    write_i64_be(writer, base_offset)
    write_i32_be(writer, length)
    write_i32_be(writer, leader_epoch)
    writer.append(MAGIC)
    write_i32_be(writer, crc)
    return writer.getvalue()
