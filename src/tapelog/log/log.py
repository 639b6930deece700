"""One partition's log: validate and append batches, make them durable, read them back.

The node core calls `append` for each batch, `write` once per wake-up, `begin_flush`/`end_flush` around a flush
round, `read` for fetches. Offsets are given at append; bytes are visible to reads after `write` and count as
durable after `end_flush`. What a failed write had queued is taken back completely.
"""

from __future__ import annotations

from typing import Final

from crc32c import crc32c
from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i32_be, write_i64_be

from tapelog.base.ports import Clock, Disk, DiskError, File
from tapelog.log import names, recovery, retention, timestamps, trim, validation
from tapelog.log.checkpoints import render_epochs
from tapelog.log.config import KEEP_CODEC, LogConfig
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.producer_state import ProducerState, last_of
from tapelog.log.queue import Group
from tapelog.log.segment import FileRegion, Segment, SegmentList
from tapelog.log.snapshots import render_snapshot
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.errors import ErrorCode, KafkaError

# who appends
CLIENT: Final = 0
REPLICATION: Final = 1
COORDINATOR: Final = 2

HEADER: Final = 61
# a body of at least this many bytes is written from the request's frame instead of being copied
LARGE: Final = 8192
RELATIVE_MAX: Final = 2147483647
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
FOREVER: Final = 9223372036854775807


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


class FlushTicket:
    """Files to make durable, and up to which offset the log is durable once they are."""

    def __init__(self, files: list[File], end: int, generation: int, directory: File | None) -> None:
        self.files = files
        self.end = end
        self.generation = generation
        self.directory = directory


class Log:
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
        self.disk = disk
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = loaded.topic_id
        self.config = config
        self.clock = clock
        self.segments: SegmentList = loaded.segments
        self.producers: ProducerState = loaded.producers
        self.leader_epoch_cache: LeaderEpochs = loaded.epochs
        self.start_offset = loaded.start_offset
        self.end_offset = loaded.end_offset
        self.written_end = loaded.end_offset
        self.durable_end = loaded.end_offset
        self.recovered_bytes = loaded.scanned_bytes
        self.bytes_since_checkpoint = 0
        self.checkpointed_end = loaded.checkpointed_end
        self.closed = False
        self.active: Segment = self.segments.items[-1]
        self.generation = 0
        self._unflushed: list[Segment] = []
        self._names_unflushed = False
        self._rolled_at_ms = clock.wall_ms()
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
        clean: bool = False,
        topic_id: bytes | None = None,
    ) -> Log:
        """Open the log in directory, or create it there.

        With clean=False everything from recovery_point on is checked and a torn tail is cut off; the rest of that
        tail is made durable before this returns. A created log's names are durable after the caller's sync_all
        or its first flush.
        """
        loaded = recovery.load(disk, directory, config, recovery_point, start_offset, clean, topic_id)
        return Log(disk, directory, topic, partition, config, clock, loaded)

    # --- append ------------------------------------------------------------------------------------------------

    def append(self, buf: bytes, start: int, end: int, leader_epoch: int, origin: int = CLIENT) -> Appended:
        """Queue the one batch in buf[start:end] (REPLICATION: one or more); give it its offsets.

        Raises KafkaError, and then nothing has changed.
        """
        if origin == REPLICATION:
            return self._append_replicated(buf, start, end)
        config = self.config
        size = end - start
        if size < HEADER or read_i32_be(buf, start + 8) != size - 12:
            raise validation.wrong_size(buf, start, end)
        if buf[start + 16] != 2:
            raise validation.wrong_magic(buf[start + 16])
        if size > config.max_message_bytes and origin == CLIENT:
            raise validation.too_large(size, config)
        body: bytes | memoryview = buf[start + 21 : end] if size < LARGE else memoryview(buf)[start + 21 : end]
        crc: int = read_i32_be(buf, start + 17)
        if crc32c(body) != (crc & 0xFFFFFFFF):
            raise validation.wrong_crc()
        attributes: int = read_i16_be(buf, start + 21)
        delta: int = read_i32_be(buf, start + 23)
        max_timestamp: int = read_i64_be(buf, start + 35)
        now_ms = self.clock.wall_ms()
        if (
            delta < 0
            or read_i32_be(buf, start + 57) != delta + 1
            or attributes & 0x68
            or attributes & 7 > 4
            or read_i64_be(buf, start) != 0
            or max_timestamp - now_ms > config.timestamp_after_max_ms
            or config.timestamp_before_max_ms != FOREVER
        ):
            validation.check_header(buf, start, attributes, delta, max_timestamp, now_ms, config, origin == CLIENT)
        append_time = -1
        if config.log_append_time or config.compact or config.codec != KEEP_CODEC:
            if not attributes & CONTROL:
                rewritten = validation.rewrite(buf, start, end, now_ms, config, origin == CLIENT)
                if rewritten is not None:
                    size = len(rewritten)
                    if size > config.max_message_bytes and origin == CLIENT:
                        raise validation.too_large(size, config)
                    buf, start, end = rewritten, 0, size
                    body = rewritten[21:]
                    crc = read_i32_be(buf, 17)
                    max_timestamp = read_i64_be(buf, 35)
                if config.log_append_time:
                    append_time = now_ms
        if size > config.segment_bytes:
            raise validation.larger_than_segment(size, config)

        producer_id: int = read_i64_be(buf, start + 43)
        epoch: int = read_i16_be(buf, start + 51)
        last_sequence = -1
        if producer_id >= 0 and not attributes & CONTROL:
            first_sequence: int = read_i32_be(buf, start + 53)
            if epoch < 0 or first_sequence < 0:
                raise validation.wrong_producer(producer_id, epoch, first_sequence)
            last_sequence = last_of(first_sequence, delta)
            seen = self.producers.check(producer_id, epoch, first_sequence, last_sequence)
            if seen is not None:
                stamp = seen.timestamp if config.log_append_time else -1
                return Appended(seen.last_offset - seen.delta, seen.last_offset, stamp, self.start_offset, True)
        elif attributes & CONTROL:
            validation.check_marker(buf, start, end, self.producers)

        base = self.end_offset
        last = base + delta
        self._place(base, last, size, max_timestamp, now_ms)
        if producer_id >= 0:
            self._note_producer(buf, start, end, base, producer_id, epoch, last_sequence, attributes)
        if leader_epoch > self.leader_epoch_cache.latest:
            self.leader_epoch_cache.assign(leader_epoch, base)
        pieces = self._group.pieces
        pieces.append(prefix(base, size - 12, leader_epoch, crc))
        pieces.append(body)
        self.end_offset = last + 1
        return Appended(base, last, append_time, self.start_offset, False)

    def _place(self, base: int, last: int, size: int, max_timestamp: int, now_ms: int) -> None:
        """Decide on a roll and on an index entry for a batch about to be queued, and count it."""
        config = self.config
        group = self._group
        position = self._position
        if position > 0 and (
            position + size > config.segment_bytes
            or last - self._base > RELATIVE_MAX
            or self._index_count * 12 + 24 > config.segment_index_bytes
            or self._waited_ms(group, max_timestamp, now_ms) > config.segment_ms - config.segment_jitter_ms
        ):
            group = self._queue_roll(base)
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
        self._position = position + size

    def _waited_ms(self, group: Group, max_timestamp: int, now_ms: int) -> int:
        """How old the segment is for segment.ms: by its records' timestamps where they have any."""
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
        max_timestamp: int = read_i64_be(buf, start + 35)
        if not attributes & CONTROL:
            delta: int = read_i32_be(buf, start + 23)
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

    def _append_replicated(self, buf: bytes, start: int, end: int) -> Appended:
        """Queue the leader's batches as they are, offsets and epochs included. A partial last one is left out."""
        now_ms = self.clock.wall_ms()
        first, last = self.end_offset, self.end_offset - 1
        for at, size in validation.check_replicated(buf, start, end, self.end_offset):
            base: int = read_i64_be(buf, at)
            delta: int = read_i32_be(buf, at + 23)
            if at == start:
                first = base
            last = base + delta
            self._place(base, last, size, read_i64_be(buf, at + 35), now_ms)
            producer_id: int = read_i64_be(buf, at + 43)
            if producer_id >= 0:
                epoch: int = read_i16_be(buf, at + 51)
                last_sequence = last_of(read_i32_be(buf, at + 53), delta)
                attributes: int = read_i16_be(buf, at + 21)
                self._note_producer(buf, at, at + size, base, producer_id, epoch, last_sequence, attributes)
            leader_epoch: int = read_i32_be(buf, at + 12)
            if leader_epoch > self.leader_epoch_cache.latest:
                self.leader_epoch_cache.assign(leader_epoch, base)
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
        except DiskError:
            self._undo(active, size, count, before)
            raise
        self.producers.commit()
        self.written_end = self.end_offset
        self._note_unflushed(self.active)
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
        active.since_index, active.max_timestamp, active.max_timestamp_offset = before
        self.producers.undo()
        self.leader_epoch_cache.truncate_from_end(self.written_end + 1)
        self.end_offset = self.written_end
        self._unflushed = [segment for segment in self._unflushed if segment.base_offset <= active.base_offset]
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
        self.disk.write_file(self.path_of(base, names.SNAPSHOT), snapshot)
        segment = Segment.create(self.disk, self.directory, base)
        self._note_unflushed(self.active)
        self.segments.add(segment)
        self.active = segment
        self._names_unflushed = True
        self._rolled_at_ms = self.clock.wall_ms()

    def _note_unflushed(self, segment: Segment) -> None:
        if not self._unflushed or self._unflushed[-1] is not segment:
            self._unflushed.append(segment)

    def needs_flush(self) -> bool:
        """Whether something written is not durable and no ticket covers it yet."""
        return bool(self._unflushed) or self._names_unflushed

    def begin_flush(self) -> FlushTicket:
        """The files written to since the last ticket; hand them to disk.start_flush, then call end_flush."""
        files: list[File] = []
        for segment in self._unflushed:
            files.append(segment.file())
            if segment is not self.active:
                files.extend(segment.index_files())
        directory: File | None = None
        if self._names_unflushed:
            directory = self.disk.open(self.directory)
            files.append(directory)
        self._unflushed = []
        self._names_unflushed = False
        self.active.mark(self.written_end, self.active.size)
        return FlushTicket(files, self.written_end, self.generation, directory)

    def end_flush(self, ticket: FlushTicket) -> None:
        """The ticket's files are durable: so is the log up to its end (unless it was truncated meanwhile)."""
        if ticket.directory is not None:
            ticket.directory.close()
        if ticket.generation == self.generation and ticket.end > self.durable_end:
            self.durable_end = ticket.end

    def flush(self) -> None:
        """Make everything written durable, here and now. Blocks: for start, shutdown and tests."""
        ticket = self.begin_flush()
        for file in ticket.files:
            file.sync()
        self.end_flush(ticket)

    @property
    def recovery_point(self) -> int:
        """Everything below is durable."""
        return self.durable_end

    # --- read --------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, upper: int, min_one: bool) -> FileRegion | None:
        """Whole batches from the one that holds offset on, none that begins at or after upper; None if there are
        none. At most max_bytes, except that min_one allows a first batch of any size. From one segment only."""
        if offset < self.start_offset or offset > self.end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} is not within [{self.start_offset}, {self.end_offset}]",
            )
        written = self.written_end
        if upper > written:
            upper = written
        if offset >= upper:
            return None
        items = self.segments.items
        number = len(items) - 1
        if offset < items[number].base_offset:
            number = max(0, self.segments.floor(offset))
        while number < len(items):
            segment = items[number]
            if segment.base_offset >= upper:
                return None
            position = segment.position_of(offset)
            if position < segment.size:
                return self._region(segment, number, position, max_bytes, upper, min_one)
            number += 1
        return None

    def _region(
        self, segment: Segment, number: int, position: int, max_bytes: int, upper: int, min_one: bool
    ) -> FileRegion | None:
        """What of a segment may be read from position on."""
        end, end_offset = segment.size, -1
        items = self.segments.items
        if number == len(items) - 1:
            end_offset = self.written_end
        elif upper >= items[number + 1].base_offset:
            end_offset = items[number + 1].base_offset
        if upper < end_offset or end_offset < 0:
            end = segment.position_of(upper)
            end_offset = upper
        if end - position > max_bytes:
            end = segment.boundary_before(position, position + max_bytes)
            end_offset = -1
            if end == position:
                if not min_one:
                    return None
                end = segment.batch_end(position)
        if end <= position:
            return None
        if end_offset >= 0:
            segment.mark(end_offset, end)
        elif end < segment.size:
            segment.mark(int(read_i64_be(segment.file().read(end, 8), 0)), end)
        return FileRegion(segment.file(), position, end - position)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Below it every transaction is decided, and the decision committed."""
        unstable = self.producers.first_unstable_offset(high_watermark)
        return unstable if 0 <= unstable < high_watermark else high_watermark

    def aborted_transactions(self, start: int, upper: int) -> list[AbortedTransaction]:
        """Aborted transactions that have records in [start, upper)."""
        found: list[AbortedTransaction] = []
        for segment in self.segments.items[max(0, self.segments.floor(start)) :]:
            part, complete = segment.txn_index.collect(start, upper)
            found.extend(part)
            if complete:
                break
        return found

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int, int] | None:
        """(timestamp, offset, leader epoch) of the first record at least as late; None if there is none."""
        return timestamps.first_at_or_after(self.segments.items, timestamp, self.start_offset)

    def max_timestamp_offset(self) -> tuple[int, int, int] | None:
        """(timestamp, offset, leader epoch) of the first record with the greatest timestamp; None if empty."""
        return timestamps.greatest(self.segments.items, self.start_offset)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= epoch, where it ended); (-1, -1) if unknown."""
        return self.leader_epoch_cache.end_offset_for(epoch, self.written_end)

    @property
    def size_bytes(self) -> int:
        """Bytes of batches on disk."""
        return self.segments.size_bytes()

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

    def retention_plan(self, now_ms: int, high_watermark: int) -> list[Segment]:
        """The oldest segments that retention or DeleteRecords has made superfluous. Changes nothing."""
        return retention.plan(
            self.segments.items, self.config, self.start_offset, self.written_end, now_ms, high_watermark
        )

    def delete_segments(self, plan: list[Segment]) -> None:
        """Carry out such a plan: rename now, remove in the background."""
        trim.delete_segments(self, plan)

    def update_config(self, config: LogConfig) -> None:
        """From the next append on."""
        self.config = config

    def expire_producers(self, now_ms: int) -> list[int]:
        """Forget producers silent for producer.id.expiration.ms; returns their ids."""
        return self.producers.expire(now_ms, self.config.producer_id_expiration_ms)

    def after_truncation(self, end_offset: int) -> None:
        """Internal to the log package: the segments were cut back; everything else follows."""
        self.active = self.segments.items[-1]
        self.end_offset = end_offset
        self.written_end = end_offset
        self.durable_end = min(self.durable_end, end_offset)
        self.checkpointed_end = min(self.checkpointed_end, end_offset)
        self.generation += 1
        self._unflushed = [segment for segment in self._unflushed if segment in self.segments.items]
        self._note_unflushed(self.active)
        self._names_unflushed = True
        self._begin_queue()

    def path_of(self, offset: int, suffix: str) -> str:
        """A file of this log named after an offset."""
        return f"{self.directory}/{names.offset_name(offset, suffix)}"

    def begin_checkpoint(self) -> tuple[int, bytes, bytes | None]:
        """What must be durable before `written_end` may become the recovery point on disk: (offset, producer
        snapshot, leader epochs if they changed). Writes out the indexes. Nothing may be queued."""
        assert self.written_end == self.end_offset
        self.active.persist_indexes()
        epochs = None
        if self.leader_epoch_cache.dirty:
            epochs = render_epochs(self.leader_epoch_cache.entries())
            self.leader_epoch_cache.dirty = False
        self.bytes_since_checkpoint = 0
        return self.written_end, render_snapshot(self.producers), epochs

    def close(self) -> None:
        """Flush, complete the indexes, take a snapshot: the next open with clean=True reads no batch."""
        if self.closed:
            return
        self.write()
        self.active.seal()
        self.disk.write_file(self.path_of(self.end_offset, names.SNAPSHOT), render_snapshot(self.producers))
        if self.leader_epoch_cache.dirty:
            self.disk.replace_file(
                f"{self.directory}/{names.LEADER_EPOCHS}", render_epochs(self.leader_epoch_cache.entries())
            )
        self.flush()
        self.close_files()

    def close_files(self) -> None:
        """Give the descriptors back without writing anything."""
        self.closed = True
        for segment in self.segments.items:
            segment.close()

    def delete(self, token: bytes) -> str:
        """Move the directory aside as `<topic>-<partition>.<token>-delete` and close; returns its new path.
        The caller makes that durable (sync_dir of the parent) and removes the tree in the background."""
        parent = self.directory.rpartition("/")[0]
        aside = f"{parent}/{names.delete_dir(self.topic, self.partition, token)}"
        self.disk.rename(self.directory, aside)
        self.directory = aside
        self.closed = True
        return aside

    def invariants(self) -> None:
        """Assert what must always hold; for tests and simulation."""
        assert 0 <= self.start_offset <= self.end_offset
        assert self.written_end <= self.end_offset
        assert self.durable_end <= self.written_end
        assert self.active is self.segments.items[-1]
        assert self.active.base_offset <= self.written_end
        assert self.segments.items[0].base_offset <= self.start_offset
        assert self._position == self.active.size + self._group.size or len(self._groups) > 1
        for segment in self.segments.items:
            assert segment.size >= 0


def prefix(base_offset: int, length: int, leader_epoch: int, crc: int) -> bytes:
    """The first 21 bytes of a batch: what lies in front of the part that its checksum covers."""
    writer = BytesWriter()
    write_i64_be(writer, base_offset)
    write_i32_be(writer, length)
    write_i32_be(writer, leader_epoch)
    writer.append(2)
    write_i32_be(writer, crc)
    return writer.getvalue()
