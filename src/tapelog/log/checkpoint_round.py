"""One checkpoint of a data directory, in steps that alternate between the loop and the background.

Used by `manager.LogDirectory`. The order is what makes it safe: first everything a recovery point claims becomes
durable (batches, index entries, producer snapshots, leader epochs), then the recovery points say so, and only then are
the snapshots of the previous checkpoint removed. Files of a log are touched on the loop only, so that a log which is
truncated or deleted meanwhile is simply left out of the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tapelog.base.ports import Disk
from tapelog.log import names
from tapelog.log.checkpoints import OffsetLines, TopicPartition
from tapelog.log.log import Log
from tapelog.log.snapshots import write_snapshot

# What recovery may have to read, over all logs, before a checkpoint should not wait for the next interval. It costs
# about 2.5 µs a batch interpreted (0.4 compiled), and a gigabyte of large batches about half a second.
CHECKPOINT_BATCHES: Final = 200_000
CHECKPOINT_BYTES: Final = 1024 * 1024 * 1024


class Captured:
    """What one log wants to be recorded."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.generation = log.generation
        self.offset, self.snapshot, self.epochs = log.begin_checkpoint()

    def stands(self) -> bool:
        """Whether the log is still what it was when it was captured."""
        return self.log.generation == self.generation and not self.log.closed


class CheckpointRound:
    """See the module. `capture` any number of logs, then `write`, `background_sync`, `settle`, `background_record`,
    `complete`."""

    def __init__(self, disk: Disk, path: str, lines: dict[str, OffsetLines]) -> None:
        self.disk = disk
        self.path = path
        self._lines = lines
        """What the files said at the last checkpoint; no other may use them meanwhile."""
        self.captured: list[Captured] = []
        self.recovery_points: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.cleaned_offsets: dict[TopicPartition, int] = {}
        self._renamed = False

    def capture(self, log: Log) -> None:
        """Take note of a log as it is now."""
        self.captured.append(Captured(log))

    def write(self) -> None:
        """On the loop: snapshots and leader epochs into their files, not durable yet."""
        for one in self.captured:
            write_snapshot(self.disk, one.log.path_of(one.offset, names.SNAPSHOT), one.snapshot)
            if one.epochs is not None:
                self.disk.write_file(f"{one.log.directory}/{names.LEADER_EPOCHS}{names.TEMPORARY}", one.epochs)

    def abandon(self) -> None:
        """It comes to nothing: what was captured is still to be recorded."""
        for one in self.captured:
            one.log.leader_epoch_cache.dirty |= one.epochs is not None

    def background_sync(self) -> None:
        """Make everything written durable: batches, indexes and what write() wrote. Blocks."""
        if self.captured:
            self.disk.sync_all()

    def settle(
        self, current: Callable[[], dict[TopicPartition, int]], cleaned_offsets: Mapping[TopicPartition, int]
    ) -> None:
        """On the loop: what stands is durable; decide what the recovery points will say. cleaned_offsets: up to where
        logs are compacted by now."""
        self.cleaned_offsets = dict(cleaned_offsets)
        self.captured = [one for one in self.captured if one.stands()]
        for one in self.captured:
            path = f"{one.log.directory}/{names.LEADER_EPOCHS}"
            if one.epochs is not None:
                self.disk.rename(path + names.TEMPORARY, path)
                self._renamed = True
        self.recovery_points = current()
        for one in self.captured:
            self.recovery_points[one.log.topic, one.log.partition] = one.offset

    def background_record(self) -> None:
        """Record the recovery points and high watermarks. Blocks."""
        if self._renamed:
            self.disk.sync_all()
        self._record(names.RECOVERY_POINTS, self.recovery_points)
        self._record(names.HIGH_WATERMARKS, self.high_watermarks)
        if self.cleaned_offsets or self.disk.exists(f"{self.path}/{names.CLEANED_OFFSETS}"):
            self._record(names.CLEANED_OFFSETS, self.cleaned_offsets)

    def _record(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Write a checkpoint file, unless it says that already."""
        path, data = f"{self.path}/{name}", self._lines.setdefault(name, OffsetLines()).render(offsets)
        try:
            if self.disk.read_file(path) == data:
                return
        except FileNotFoundError:
            pass
        self.disk.replace_file(path, data)

    def complete(self) -> bool:
        """On the loop: tell the logs; False if one does not stand any more, though its recovery point was recorded."""
        standing = [one for one in self.captured if one.stands()]
        for one in standing:
            one.log.end_checkpoint(one.offset)
        return len(standing) == len(self.captured)


def recovery_cost(log: Log) -> int:
    """How much recovery would have to do, in bytes: a batch costs as much as some kilobytes."""
    return log.batches_since_checkpoint * 4096 + log.bytes_since_checkpoint


def costly(logs: Iterable[Log]) -> bool:
    """Whether recovery would have to read so much of these logs that it should not wait."""
    batches = size = 0
    for log in logs:
        batches += log.batches_since_checkpoint
        size += log.bytes_since_checkpoint
    return batches > CHECKPOINT_BATCHES or size > CHECKPOINT_BYTES
