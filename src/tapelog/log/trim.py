"""Making a log shorter, at either end. Called through Log's methods of the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.log import names, recovery
from tapelog.log.checkpoints import render_epochs
from tapelog.log.compaction import swap
from tapelog.log.segment import Segment
from tapelog.log.snapshots import parse_snapshot
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import base_offset

if TYPE_CHECKING:
    from tapelog.log.log import Log


class Seed:
    """What a log must know of its beginning when only the tier has that: where it begins, its leader epochs, and a
    snapshot of its producers at the offset from which on it has everything itself."""

    def __init__(self, start_offset: int, epochs: list[tuple[int, int]], snapshot: bytes) -> None:
        self.start_offset = start_offset
        self.epochs = epochs
        self.snapshot = snapshot


class Cut:
    """A truncation to carry out: everything from offset on, or (start_anew) everything, to begin at offset; with a
    seed only to begin there itself."""

    def __init__(
        self,
        log: Log,
        offset: int,
        *,
        start_anew: bool = False,
        wanted: Callable[[], bool] | None = None,
        seed: Seed | None = None,
    ) -> None:
        self.log = log
        self.offset = offset
        self.start_anew = start_anew
        self.seed = seed
        self._wanted = wanted

    def wanted(self) -> bool:
        """Asked right before: whether it is still to be done."""
        return self._wanted is None or self._wanted()

    def end(self) -> int:
        """Where the log will end."""
        return self.offset if self.start_anew else batch_start(self.log, self.offset)

    def carry_out(self) -> None:
        """Cut."""
        if self.start_anew:
            self.log.truncate_fully_and_start_at(self.offset)
            if self.seed is not None:
                sow(self.log, self.seed)
        else:
            self.log.truncate_to(self.offset)


def batch_start(log: Log, offset: int) -> int:
    """Where the log ends once everything from offset on is cut off: at offset, or where the batch that holds it
    begins. Nothing may be queued."""
    if offset >= log.written_end or offset < log.segments.items[0].base_offset:
        return offset
    segment = log.segments.items[log.segments.floor(offset)]
    position = segment.position_of(offset)
    if position == segment.size:
        return offset
    return min(offset, base_offset(segment.file().read(position, 8), 0))


def truncate_to(log: Log, offset: int) -> bool:
    """Cut off everything from offset on; a batch that spans it goes whole. False if there was nothing."""
    log.write()
    if offset >= log.end_offset:
        return False
    swap.withdraw(log)
    if offset < log.segments.items[0].base_offset:
        truncate_fully(log, offset)
        return True
    number = log.segments.floor(offset)
    segment = log.segments.items[number]
    position = segment.position_of(offset)
    end = batch_start(log, offset)
    _remove(log, log.segments.items[number + 1 :])
    log.segments.remove_from(number + 1)
    segment.truncate(end, position)
    log.leader_epoch_cache.truncate_from_end(end)
    for snapshot in recovery.snapshot_offsets(log.disk.listdir(log.directory)):
        if snapshot > end:
            log.disk.remove(log.path_of(snapshot, names.SNAPSHOT))
    recovery.rebuild_producers(log.disk, log.directory, log.segments, log.producers, end)
    log.start_offset = min(log.start_offset, end)
    log.tiered_end = min(log.tiered_end, end)
    log.note_starts()
    log.after_truncation(end)
    return True


def truncate_fully(log: Log, offset: int) -> None:
    """Drop everything; the log begins and ends at offset."""
    log.write()
    swap.withdraw(log)
    _remove(log, log.segments.items)
    log.segments.remove_from(0)
    for snapshot in recovery.snapshot_offsets(log.disk.listdir(log.directory)):
        log.disk.remove(log.path_of(snapshot, names.SNAPSHOT))
    log.segments.add(Segment.create(log.disk, log.directory, offset))
    log.leader_epoch_cache.clear()
    log.producers.restore([])
    log.start_offset = offset
    log.tiered_end = 0
    log.note_starts()
    log.after_truncation(offset)
    log.durable_end = offset  # there is nothing that could be lost


def sow(log: Log, seed: Seed) -> None:
    """An empty log learns of what the tier has below it; durably, before the first record is appended. SnapshotError if
    the snapshot is damaged."""
    assert log.start_offset == log.end_offset and log.config.remote
    log.producers.restore(parse_snapshot(seed.snapshot))
    for epoch, start in seed.epochs:
        if start < log.end_offset:
            log.leader_epoch_cache.assign(epoch, start)
    log.leader_epoch_cache.truncate_from_start(seed.start_offset)
    log.disk.replace_file(f"{log.directory}/{names.LEADER_EPOCHS}", render_epochs(log.leader_epoch_cache.entries()))
    log.disk.replace_file(log.path_of(log.end_offset, names.SNAPSHOT), seed.snapshot)
    log.leader_epoch_cache.dirty = False
    log.start_offset = seed.start_offset
    log.tiered_end = log.end_offset
    log.note_starts()


def _remove(log: Log, segments: list[Segment]) -> None:
    """Newest first, so that a crash in between leaves a log without a gap."""
    for segment in reversed(segments):
        for path in segment.mark_deleted():
            log.disk.remove(path)


def increment_start_offset(log: Log, offset: int) -> bool:
    """Nothing below offset is served any more; segments go with the next retention run."""
    if offset > log.end_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"Offset {offset} is beyond the log's end {log.end_offset}")
    if offset <= log.start_offset:
        return False
    log.start_offset = offset
    log.note_starts()
    log.leader_epoch_cache.truncate_from_start(offset)
    return True


def delete_segments(log: Log, plan: list[Segment]) -> None:
    """Rename the planned segments out of the way and remove them in the background."""
    if not plan:
        return
    log.write()
    if plan[-1].base_offset >= log.staged:
        swap.withdraw(log)
    count = len(plan)
    assert log.segments.items[:count] == plan, "a plan is a log's oldest segments"
    if count == len(log.segments.items):
        log.roll()
    _keep_producers(log, log.segments.items[count].base_offset)
    renamed: list[str] = []
    for segment in plan:
        renamed.extend(segment.mark_deleted())
        renamed.append(log.path_of(segment.base_offset, names.SNAPSHOT))
    log.segments.remove_first(count)
    log.unflushed = [segment for segment in log.unflushed if segment not in plan]
    first = log.segments.items[0].base_offset
    if not log.config.remote or (log.start_offset >= plan[0].base_offset and log.tiered_end < first):
        log.start_offset = max(log.start_offset, first)  # nobody else has it
    log.note_starts()
    log.leader_epoch_cache.truncate_from_start(log.start_offset)
    disk = log.disk

    def remove() -> None:
        for path in renamed:
            disk.remove(path)

    disk.start_job(remove, _ignore)


def _keep_producers(log: Log, base: int) -> None:
    """Once the segments below base are gone only the snapshot there tells of their producers: make it durable, unless
    a checkpoint behind it has seen to that."""
    path = log.path_of(base, names.SNAPSHOT)
    if log.checkpointed_end < base and log.disk.exists(path):
        file = log.disk.open(path)
        file.sync()
        file.close()
        log.disk.sync_dir(log.directory)


def _ignore(failure: Exception | None) -> None:
    """What could not be removed is removed at the next start."""
