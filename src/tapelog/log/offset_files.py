"""The files of a data directory that say one offset per log: recovery points, starts, how far logs are compacted.

Base class of `manager.LogDirectory`. What they say must never be believed of another log than the one it was said of:
they are lowered before a log is cut, and a log that was deleted is forgotten before another of its name is made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.log import census, names
from tapelog.log import checkpoints as text
from tapelog.log.checkpoints import CheckpointError, TopicPartition
from tapelog.log.local_starts import LocalStarts
from tapelog.log.log import Log
from tapelog.log.segment import Segment


class OffsetFiles:
    """See the module. `logs` holds the open logs by (topic, partition)."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.cleaned_offsets: dict[TopicPartition, int] = {}
        """Up to where logs have been compacted; on disk with the next checkpoint."""
        self.local_starts: LocalStarts
        self._written_cleaned_offsets: dict[TopicPartition, int] = {}
        self._recovery_points: dict[TopicPartition, int] = {}
        self._start_offsets: dict[TopicPartition, int] = {}
        self._written_start_offsets: dict[TopicPartition, int] = {}
        self._too_high = False  # a recovery point on disk
        self._outdated: dict[str, None] = {}  # checkpoint files that still speak of deleted logs

    def _read_all(self) -> None:
        self._recovery_points = self._read_offsets(names.RECOVERY_POINTS)
        self._start_offsets = self._read_offsets(names.START_OFFSETS)
        self.local_starts = LocalStarts(self.disk, self.path)
        self._written_start_offsets = dict(self._start_offsets)
        self.high_watermarks = self._read_offsets(names.HIGH_WATERMARKS)
        self.cleaned_offsets = self._read_offsets(names.CLEANED_OFFSETS)

    def write_start_offsets(self) -> None:
        """The start offsets, durably: call before DeleteRecords is answered. (Deleting segments needs none of it: a
        log starts at its first segment anyway.) Blocks."""
        offsets = self._current_start_offsets()
        self._write_offsets(names.START_OFFSETS, offsets)
        self._written_start_offsets = offsets

    def before_letting_go(self, plans: Sequence[tuple[Log, Sequence[Segment]]]) -> None:
        """These segments of these logs are about to go. Where the tier has them, only files tell then where the whole
        logs begin, and where they do here. Blocks, unless the files say so already."""
        starts: dict[TopicPartition, int] = {}
        moved = False
        for log, plan in plans:
            key, items = (log.topic, log.partition), log.segments.items
            first = items[len(plan)].base_offset if len(plan) < len(items) else log.written_end
            if log.start_offset < first <= log.tiered_end:
                moved = moved or self._written_start_offsets.get(key) != log.start_offset
                starts[key] = first
        if moved:
            self.write_start_offsets()
        self.local_starts.keep(starts)

    def start_offsets_moved(self) -> bool:
        """Whether some have moved since they were last written: a follower's go with its leader's."""
        return self._current_start_offsets() != self._written_start_offsets

    def cleaned_offsets_moved(self) -> bool:
        """Whether a log was compacted since they were last written."""
        return self.cleaned_offsets != self._written_cleaned_offsets

    def foretell(self, log: Log, high_watermark: int) -> None:
        """Durably, before a copy of a log counts here: what a start must know of it. Blocks."""
        key = (log.topic, log.partition)
        self._recovery_points[key] = log.end_offset
        self._start_offsets[key] = log.start_offset
        self.high_watermarks[key] = high_watermark
        try:
            self._write_offsets(names.RECOVERY_POINTS, self._current_recovery_points())
            self._write_offsets(names.START_OFFSETS, self._current_start_offsets())
            self._write_offsets(names.HIGH_WATERMARKS, self.high_watermarks)
            if log.local_start_offset > log.start_offset:
                self.local_starts.keep({key: log.segments.items[0].base_offset})
        except DiskError:
            self.forget(key)
            raise

    def forget_cleaned(self, key: TopicPartition) -> None:
        """Durably: what is known of how far a log was compacted will not hold any more. Blocks."""
        if self.cleaned_offsets.pop(key, None) is not None or key in self._written_cleaned_offsets:
            self._write_cleaned_offsets()

    def forget(self, key: TopicPartition) -> None:
        """Nothing that the files say of a log that is here no more may be believed of another of its name. Blocks."""
        for name, offsets in (
            (names.RECOVERY_POINTS, self._recovery_points),
            (names.START_OFFSETS, self._start_offsets),
            (names.CLEANED_OFFSETS, self.cleaned_offsets),
        ):
            offsets.pop(key, None)
            self._outdated[name] = None
        self.high_watermarks.pop(key, None)
        if self.local_starts.forget([key]):
            self._outdated[names.LOCAL_STARTS] = None
        self._try_outdated()

    def _write_cleaned_offsets(self) -> None:
        offsets = dict(self.cleaned_offsets)
        self._write_offsets(names.CLEANED_OFFSETS, offsets)
        self._written_cleaned_offsets = offsets

    def _current_recovery_points(self) -> dict[TopicPartition, int]:
        points = dict(self._recovery_points)
        points.update(zip(self.logs, census.checkpointed_ends(list(self.logs.values())), strict=True))
        return points

    def _current_start_offsets(self) -> dict[TopicPartition, int]:
        """Only where a log starts later than its first segment, or may start earlier in a tier, as Kafka does."""
        offsets = {key: offset for key, offset in self._start_offsets.items() if key not in self.logs}
        for log in census.late_starts(list(self.logs.values())):
            offsets[log.topic, log.partition] = log.start_offset
        return offsets

    def _lower_recovery_points(self) -> None:
        """A log that could not be resumed at its recovery point rebuilds what that point relied on: the point on disk
        must not be believed until the next checkpoint."""
        if self._too_high:
            self._write_offsets(names.RECOVERY_POINTS, self._current_recovery_points())
            self._too_high = False

    def _write_outdated(self) -> None:
        for name in list(self._outdated):
            if name == names.CLEANED_OFFSETS:
                self._write_cleaned_offsets()
            elif name == names.LOCAL_STARTS:
                self.local_starts.write()
            else:
                points = name == names.RECOVERY_POINTS
                self._write_offsets(name, self._current_recovery_points() if points else self._current_start_offsets())
            del self._outdated[name]

    def _try_outdated(self) -> None:
        try:
            self._write_outdated()
        except DiskFullError:
            pass  # create_many tries again, and a start leaves out what has no directory

    def _forget_absent(self, present: Collection[TopicPartition]) -> None:
        """Only these logs are there. One that was deleted just before a crash may have left its offsets in the files.
        A new log of that name must never meet them: it would begin there, or after another crash lose what lies
        below."""
        for name, offsets in (
            (names.RECOVERY_POINTS, self._recovery_points),
            (names.START_OFFSETS, self._start_offsets),
            (names.LOCAL_STARTS, self.local_starts.entries),
            (names.CLEANED_OFFSETS, self.cleaned_offsets),
        ):
            absent = [key for key in offsets if key not in present]
            for key in absent:
                del offsets[key]
            if absent:
                self._write_offsets(name, offsets)
        self._written_cleaned_offsets = dict(self.cleaned_offsets)

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            return text.parse_offsets(self.disk.read_file(f"{self.path}/{name}"), name)
        except (FileNotFoundError, CheckpointError):
            return {}

    def _write_offsets(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.disk.replace_file(f"{self.path}/{name}", text.render_offsets(offsets))
