"""The written part of a partition's log: reading it, making it durable, recording how far it is.

Base class of `log.Log`, which adds appends. The node core uses both through Log.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i64_be

from tapelog.base.ports import Clock, Disk, DiskFullError, File
from tapelog.log import names, recovery, retention, timestamps
from tapelog.log.checkpoints import render_epochs
from tapelog.log.config import LogConfig
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.producer_state import ProducerState
from tapelog.log.scrub import Damage
from tapelog.log.segment import FileRegion, Segment, SegmentList
from tapelog.log.snapshots import render_snapshot
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.errors import ErrorCode, KafkaError

# older segments of a log whose files stay open for the next read
OPEN_SEGMENTS_MAX: Final = 3


class FlushTicket:
    """Files to make durable, and up to which offset the log is durable once they are."""

    def __init__(
        self, files: list[File], end: int, generation: int, directory: File | None, rolled: list[Segment]
    ) -> None:
        self.files = files
        self.end = end
        self.generation = generation
        self.directory = directory
        self.rolled = rolled


class StoredLog:
    """Segments and what is known of them. Offsets: start <= durable <= written <= end (the last counts appends that
    are only queued). Reads, and look-ups by time, are about what is here: from local_start_offset on."""

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
        """Where the whole log begins, with what only the tier has."""
        self.local_start_offset = loaded.start_offset
        """Where it begins here; the same without a tier. Kept by `note_starts`."""
        self.tiered_end = 0
        """From the start up to there all is in the tier, says a manifest that is safe; 0: nothing, or unknown."""
        self.end_offset = loaded.end_offset
        self.written_end = loaded.end_offset
        self.durable_end = loaded.end_offset
        self.recovered_bytes = loaded.scanned_bytes
        self.bytes_since_checkpoint = 0
        self.batches_since_checkpoint = 0
        self.checkpointed_end = loaded.checkpointed_end
        self.closed = False
        self.active: Segment = self.segments.items[-1]
        self.generation = 0
        self.unflushed: list[Segment] = []
        self.damaged: list[Damage] = []
        """What was found not to be what was written: nobody is given that."""
        self._opened: list[Segment] = []
        self.names_unflushed = loaded.created
        self.staged = -1
        """Base offset of a compacted segment that a restart would put in place already (compaction.swap)."""
        self.mends = 0
        """How often damaged batches were overwritten with good ones: a copy made before may have the bad ones."""
        self.moving = False
        """Whether it is being copied (relocation): until then it is not compacted."""
        self.note_starts()

    # --- read --------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, upper: int, min_one: bool) -> FileRegion | None:
        """Whole batches from the one that holds offset on, none that reaches to upper or beyond; None if there
        are none. At most max_bytes, except that min_one allows a first batch of any size. From one segment only."""
        if offset < self.local_start_offset or offset > self.end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} is not within [{self.local_start_offset}, {self.end_offset}]",
            )
        written = self.written_end
        if upper > written:
            upper = written
        if self.damaged:
            upper = self.before_damage(offset, upper)
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
            if segment is not self.active:
                self.keep_open(segment)
            if position < segment.size:
                return self._region(segment, number, position, max_bytes, upper, min_one)
            number += 1
        return None

    def note_starts(self) -> None:
        """Internal to the log package: the start, or the first segment, is another one."""
        self.local_start_offset = max(self.start_offset, self.segments.items[0].base_offset)

    def before_damage(self, offset: int, upper: int) -> int:
        """Up to where may be read from offset on; KafkaError if that is damaged itself."""
        for damage in self.damaged:
            if damage.first_offset <= offset < damage.next_offset:
                raise KafkaError(ErrorCode(damage.code), f"{self.topic}-{self.partition} is damaged: {damage}")
            if offset < damage.first_offset < upper:
                upper = damage.first_offset
        return upper

    def _position_of_end(self, segment: Segment, upper: int) -> int:
        """Where the batch with that offset begins; what is damaged is not read to find out."""
        for damage in self.damaged:
            if damage.first_offset == upper and damage.base_offset == segment.base_offset:
                return damage.position
        return segment.position_of(upper)

    def keep_open(self, segment: Segment) -> None:
        """Note that an older segment has open files; the one used longest ago gives its own back."""
        opened = self._opened
        if segment not in opened:
            opened.append(segment)
            if len(opened) > OPEN_SEGMENTS_MAX:
                for number, other in enumerate(opened):
                    if not other.pinned:
                        opened.pop(number).release()
                        break

    def forget_opened(self) -> None:
        """Internal to the log package: the segments are others now."""
        self._opened = []

    def replace_segments(self, number: int, old: list[Segment], new: Segment) -> None:
        """Internal to the log package: the files of old segments, from that number on, made room for those of a new
        one, which are durable."""
        self.segments.replace(number, len(old), new)
        self.unflushed = [segment for segment in self.unflushed if segment not in old]
        self._opened = [segment for segment in self._opened if segment not in old]
        bases = [segment.base_offset for segment in old]
        self.damaged = [damage for damage in self.damaged if damage.base_offset not in bases]
        self.names_unflushed = True

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
            end = self._position_of_end(segment, upper)
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
        if end_offset < 0:
            if end < segment.size:
                end_offset = int(read_i64_be(segment.file().read(end, 8), 0))
            else:
                end_offset = self.written_end if segment is self.active else items[number + 1].base_offset
        segment.mark(end_offset, end)
        return FileRegion(segment.file(), position, end - position, end_offset, segment.cuts)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Below it every transaction is decided, and the decision committed."""
        unstable = self.producers.first_unstable_offset(high_watermark)
        if 0 <= unstable < high_watermark:
            return max(unstable, self.start_offset)
        return high_watermark

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
        return timestamps.first_at_or_after(self.segments.items, timestamp, self.local_start_offset)

    def max_timestamp_offset(self) -> tuple[int, int, int] | None:
        """(timestamp, offset, leader epoch) of the first record with the greatest timestamp; None if empty."""
        return timestamps.greatest(self.segments.items, self.local_start_offset)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= epoch, where it ended); (-1, -1) if unknown."""
        return self.leader_epoch_cache.end_offset_for(epoch, self.written_end)

    @property
    def size_bytes(self) -> int:
        """Bytes of batches on disk."""
        return self.segments.size_bytes()

    def retention_plan(self, now_ms: int, high_watermark: int) -> list[Segment]:
        """The oldest segments that retention or DeleteRecords has made superfluous here. Changes nothing."""
        return retention.plan(
            self.segments.items,
            self.config,
            self.start_offset,
            self.written_end,
            now_ms,
            high_watermark,
            min(self.tiered_end, self.checkpointed_end),
        )

    def waits_for_tier(self, now_ms: int, high_watermark: int) -> bool:
        """Whether local retention would give up more if the tier had it."""
        if not self.config.remote:
            return False
        items, end = self.segments.items, self.written_end
        known = min(self.tiered_end, self.checkpointed_end)
        would = retention.plan(
            items, self.config, self.start_offset, end, now_ms, high_watermark, self.checkpointed_end
        )
        return len(would) > len(
            retention.plan(items, self.config, self.start_offset, end, now_ms, high_watermark, known)
        )

    # --- flush -------------------------------------------------------------------------------------------------

    def note_unflushed(self, segment: Segment) -> None:
        segment.pinned = not self.config.page_cache
        if not self.unflushed or self.unflushed[-1] is not segment:
            self.unflushed.append(segment)

    def needs_flush(self) -> bool:
        """Whether something written is not durable and no ticket covers it yet."""
        return bool(self.unflushed) or self.names_unflushed

    def begin_flush(self) -> FlushTicket:
        """The files written to since the last ticket; hand them to disk.start_flush, then call end_flush."""
        files: list[File] = []
        rolled: list[Segment] = []
        for segment in self.unflushed:
            files.append(segment.file())
            segment.pinned = False  # the ticket holds the file
            if segment is not self.active:
                files.extend(segment.index_files())
                rolled.append(segment)
        directory: File | None = None
        if self.names_unflushed:
            directory = self.disk.open(self.directory)
            files.append(directory)
        self.unflushed = []
        self.names_unflushed = False
        self.active.mark(self.written_end, self.active.size)
        return FlushTicket(files, self.written_end, self.generation, directory, rolled)

    def end_flush(self, ticket: FlushTicket) -> None:
        """The ticket's files are durable: so is the log up to its end (unless it was truncated meanwhile)."""
        if ticket.directory is not None:
            ticket.directory.close()
        if ticket.generation == self.generation and ticket.end > self.durable_end:
            self.durable_end = ticket.end
        for segment in ticket.rolled:
            if segment is not self.active and ticket.generation == self.generation:
                self.keep_open(segment)

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

    # --- checkpoint and end ------------------------------------------------------------------------------------

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
        self.batches_since_checkpoint = 0
        return self.written_end, render_snapshot(self.producers), epochs

    def end_checkpoint(self, offset: int) -> None:
        """What begin_checkpoint gave is durable: the snapshot of the checkpoint before it is not needed any more."""
        before = self.checkpointed_end
        self.checkpointed_end = offset
        self.durable_end = max(self.durable_end, offset)
        number = self.segments.floor(before)
        if before != offset and not (number >= 0 and self.segments.items[number].base_offset == before):
            self.disk.remove(self.path_of(before, names.SNAPSHOT))

    def expire_producers(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget producers silent for so long (producer.id.expiration.ms); returns their ids."""
        return self.producers.expire(now_ms, expiration_ms)

    def path_of(self, offset: int, suffix: str) -> str:
        """A file of this log named after an offset."""
        return f"{self.directory}/{names.offset_name(offset, suffix)}"

    def close_files(self) -> None:
        """Give the descriptors back without writing anything."""
        self.closed = True
        for segment in self.segments.items:
            segment.close()

    def delete(self, token: bytes) -> str:
        """Move the directory aside as `<topic>-<partition>.<token>-delete` and close; returns its new path.
        Readers that hold regions go on. The caller makes that durable (sync_dir of the parent) and removes the tree in
        the background. On a disk that has no room for a longer name it goes at once."""
        parent = self.directory.rpartition("/")[0]
        aside = f"{parent}/{names.delete_dir(self.topic, self.partition, token)}"
        try:
            self.disk.rename(self.directory, aside)
        except DiskFullError:
            self.disk.remove_tree(self.directory)
        self.directory = aside
        self.closed = True
        for segment in self.segments.items:
            segment.release()  # or their space is not free before other files need the descriptors
        return aside
