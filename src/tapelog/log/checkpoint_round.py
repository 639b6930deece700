"""One checkpoint of a data directory: captured on the loop, carried out in the background, completed on the loop.

Used by `manager.LogDirectory`. The order is what makes it safe: first everything a recovery point claims becomes
durable (batches, index entries, producer snapshots, leader epochs), then the recovery points say so, and only then are
the snapshots of the previous checkpoint removed.
"""

from __future__ import annotations

from tapelog.base.ports import Disk
from tapelog.log import names
from tapelog.log.checkpoints import TopicPartition, render_offsets
from tapelog.log.log import Log


class Captured:
    """What one log wants to be recorded."""

    def __init__(self, log: Log, offset: int, snapshot: bytes, epochs: bytes | None) -> None:
        self.log = log
        self.directory = log.directory
        self.generation = log.generation
        self.offset = offset
        self.snapshot = snapshot
        self.epochs = epochs


class CheckpointRound:
    """See the module. run() touches only what was captured, so it may run on another thread."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.captured: list[Captured] = []
        self.recovery_points: dict[TopicPartition, int] = {}
        self.start_offsets: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}

    def capture(self, log: Log) -> None:
        """Take note of a log that has something new and nothing queued."""
        if log.closed or log.written_end != log.end_offset:
            return
        if log.written_end == log.checkpointed_end and not log.leader_epoch_cache.dirty:
            return
        offset, snapshot, epochs = log.begin_checkpoint()
        self.captured.append(Captured(log, offset, snapshot, epochs))

    def new_recovery_points(self) -> dict[TopicPartition, int]:
        """The recovery points that hold once run() has made everything durable."""
        return {(one.log.topic, one.log.partition): one.offset for one in self.captured}

    def run(self) -> None:
        """Make it durable, then record it. Blocks."""
        disk, epochs_changed = self.disk, False
        for one in self.captured:
            if not disk.exists(one.directory):
                continue  # deleted meanwhile
            disk.write_file(f"{one.directory}/{names.offset_name(one.offset, names.SNAPSHOT)}", one.snapshot)
            if one.epochs is not None:
                disk.write_file(f"{one.directory}/{names.LEADER_EPOCHS}{names.TEMPORARY}", one.epochs)
        if self.captured:
            disk.sync_all()
        for one in self.captured:
            path = f"{one.directory}/{names.LEADER_EPOCHS}"
            if one.epochs is not None and disk.exists(path + names.TEMPORARY):
                disk.rename(path + names.TEMPORARY, path)
                epochs_changed = True
        if epochs_changed:
            disk.sync_all()
        self._record(names.RECOVERY_POINTS, self.recovery_points)
        self._record(names.START_OFFSETS, self.start_offsets)
        self._record(names.HIGH_WATERMARKS, self.high_watermarks)

    def _record(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Write a checkpoint file, unless it says that already."""
        path, data = f"{self.path}/{name}", render_offsets(offsets)
        try:
            if self.disk.read_file(path) == data:
                return
        except FileNotFoundError:
            pass
        self.disk.replace_file(path, data)

    def complete(self) -> bool:
        """Tell the logs; False if one was truncated while run() was under way."""
        intact = True
        for one in self.captured:
            if one.log.generation != one.generation:
                intact = False
            else:
                one.log.end_checkpoint(one.offset)
        return intact
