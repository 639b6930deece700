"""A data directory: whose it is, which logs live in it, and the checkpoints that make starting quick and safe.

The node core opens one `LogDirectory` per log.dirs entry and gets its logs from it. A checkpoint makes everything
written durable, then records per log how far that is (the recovery point) together with what recovery needs to begin
there; the node core starts one every few seconds and whenever `checkpoint_due` says so, which bounds what a restart
after a crash has to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tapelog.base.ports import Clock, Disk, DiskError, Entropy
from tapelog.log import census, names, ownership
from tapelog.log import checkpoints as text
from tapelog.log.checkpoint_round import CHECKPOINT_BATCHES as CHECKPOINT_BATCHES
from tapelog.log.checkpoint_round import CHECKPOINT_BYTES as CHECKPOINT_BYTES
from tapelog.log.checkpoint_round import CheckpointRound, costly, recovery_cost
from tapelog.log.checkpoints import CheckpointError, TopicPartition
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.offset_files import OffsetFiles
from tapelog.log.ownership import WrongDirectoryError as WrongDirectoryError
from tapelog.log.trim import Cut

# Logs in one background checkpoint: each costs the loop some 70 µs interpreted. The others' turn comes with the next.
CHECKPOINT_LOGS_MAX: Final = 100


class NewLog:
    """A partition to create."""

    def __init__(self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig) -> None:
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.config = config


class LogDirectory(OffsetFiles):
    """One open data directory. `logs` holds the open logs by (topic, partition); `everywhere` those of all
    directories that share it (`directories.LogDirectories`)."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        clock: Clock,
        entropy: Entropy,
        everywhere: dict[TopicPartition, Log] | None = None,
    ) -> None:
        super().__init__(disk, path)
        self.clock = clock
        self.entropy = entropy
        self.everywhere: dict[TopicPartition, Log] = everywhere if everywhere is not None else {}
        self.directory_id = b""
        self.clean = False
        self.new = False
        """Nobody had it before."""
        self.previous_broker_epoch = -1
        self._round: CheckpointRound | None = None
        self._lines: dict[str, text.OffsetLines] = {}
        self._after_round: list[Callable[[], None]] = []
        self.futures: list[str] = []
        """Names of copies (`relocation`) that the last run has left here."""
        self.left_out = False
        """Whether some logs with something new wait for the next checkpoint."""
        self.closed = False

    @staticmethod
    def open(
        disk: Disk,
        path: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cluster_id: str,
        node_id: int,
        everywhere: dict[TopicPartition, Log] | None = None,
    ) -> LogDirectory:
        """Take possession: create or check meta.properties, read the checkpoints, withdraw the clean-shutdown marker.

        WrongDirectoryError if it belongs to another cluster or node. A damaged checkpoint counts as absent.
        """
        directory = LogDirectory(disk, path, clock, entropy, everywhere)
        disk.mkdir(path)
        directory.directory_id, directory.new = ownership.take(disk, path, entropy, cluster_id, node_id)
        directory._read_all()
        marker = f"{path}/{names.CLEAN_SHUTDOWN}"
        if disk.exists(marker):
            directory.clean = True
            directory.previous_broker_epoch = text.parse_clean_shutdown(disk.read_file(marker))
            disk.remove(marker)
            disk.sync_dir(path)
        directory.futures = ownership.clear_away(disk, path)
        present = set(directory.partitions())
        if disk.exists(directory._directory_of(names.CLUSTER_METADATA, 0)):
            present.add((names.CLUSTER_METADATA, 0))
        directory._forget_absent(present)
        return directory

    # --- logs --------------------------------------------------------------------------------------------------

    def partitions(self) -> list[TopicPartition]:
        """Every partition with a directory here, sorted by name; open or not. Not the cluster's metadata."""
        found = []
        for name in self.disk.listdir(self.path):
            parsed = names.parse_partition_dir(name)
            if parsed is not None and parsed[0] != names.CLUSTER_METADATA:
                found.append(parsed)
        return found

    def discard_empty(self, key: TopicPartition) -> bool:
        """Remove the files of a log that is not open and never had a record; False if it may have had one. Blocks.

        A directory that fails while a log is created there leaves such files behind, and it is created elsewhere."""
        path = self._directory_of(*key)
        listing = [name for name in self.disk.listdir(path) if name.endswith(names.LOG)]
        first = names.offset_name(0, names.LOG)
        if listing not in ([], [first]) or (listing and self.disk.file_size(f"{path}/{first}")):
            return False
        aside = f"{self.path}/{names.delete_dir(*key, self.entropy.token(16))}"
        self.disk.rename(path, aside)
        self.disk.sync_dir(self.path)
        self.disk.remove_tree(aside)
        return True

    def put_aside(self, key: TopicPartition, *, spare: bool = False) -> str:
        """Rename the files of a copy that does not count, open or not, and forget what the checkpoints say of it;
        returns where they are now. spare: one that may go, and is to be made anew (`relocation`). Blocks."""
        log = self.logs.pop(key, None)
        if log is not None:
            log.close_files()
        token = self.entropy.token(16)
        name = names.future_dir(*key, token) if spare else names.stray_dir(*key, token)
        if spare:
            self.disk.remove(f"{self._directory_of(*key)}/{names.FUTURE_COMPLETE}")
            self.futures.append(name)
        self.disk.rename(self._directory_of(*key), f"{self.path}/{name}")
        self.disk.sync_dir(self.path)
        self.forget(key)
        return f"{self.path}/{name}"

    def topic_id_of(self, topic: str, partition: int) -> bytes | None:
        """The topic id its directory was created for, without opening the log."""
        path = f"{self._directory_of(topic, partition)}/{names.PARTITION_METADATA}"
        try:
            return text.parse_partition_metadata(self.disk.read_file(path))
        except (FileNotFoundError, CheckpointError):
            return None

    def open_log(self, topic: str, partition: int, config: LogConfig, topic_id: bytes | None = None) -> Log:
        """Open that partition's log (or create it: then what is in it is durable after its first flush). What was
        recovered is durable when this returns."""
        log = self._hold(self._open(topic, partition, config, topic_id, True))
        if not self.clean:
            self.disk.sync_dir(self.path)
        self._lower_recovery_points()
        return log

    def open_all(self, partitions: Iterable[TopicPartition], config_of: Callable[[str], LogConfig]) -> list[Log]:
        """Open many logs with one sync for all of them.

        After a crash that sync is never left out: a log that was created just before it may have a name, and an empty
        newest segment, which no sync has reached yet, and nothing later would sync them again."""
        opened = []
        for topic, partition in partitions:
            opened.append(self._hold(self._open(topic, partition, config_of(topic), None, False)))
        if opened and not self.clean:
            self.disk.sync_all()
        self._lower_recovery_points()
        return opened

    def create_many(self, wanted: Iterable[NewLog]) -> list[Log]:
        """Create (or open) these partitions and make them durable with one sync. Blocks for it. When the disk is full
        some may have been created: those are durable, too."""
        self._write_outdated()
        created: list[Log] = []
        try:
            for new in wanted:
                created.append(self._hold(self._open(new.topic, new.partition, new.config, new.topic_id, False)))
        finally:
            if created:
                self.disk.sync_all()
                for log in created:
                    log.names_unflushed = False
        self._lower_recovery_points()
        return created

    def delete(self, topic: str, partition: int) -> None:
        """Move the log aside, durably, and remove it in the background."""
        self.delete_many([(topic, partition)])

    def delete_many(self, partitions: Iterable[TopicPartition]) -> None:
        """The same for many, with a few syncs for all of them. Blocks for those."""
        aside, recorded, started_late, keys = [], False, False, list(partitions)
        for key in keys:
            log = self.logs.pop(key)
            self.everywhere.pop(key, None)
            recorded = recorded or log.checkpointed_end > 0
            started_late = started_late or log.start_offset > 0
            self.high_watermarks.pop(key, None)
            if self.cleaned_offsets.pop(key, None) is not None or key in self._written_cleaned_offsets:
                self._outdated[names.CLEANED_OFFSETS] = None
            aside.append(log.delete(self.entropy.token(16)))
        self.disk.sync_dir(self.path)
        # a log created later under such a name must not inherit what the checkpoints say of this one
        if recorded:
            self._outdated[names.RECOVERY_POINTS] = None
        if started_late:
            self._outdated[names.START_OFFSETS] = None
        if self.local_starts.forget(keys):
            self._outdated[names.LOCAL_STARTS] = None
        self._try_outdated()
        disk = self.disk

        def remove() -> None:
            for path in aside:
                disk.remove_tree(path)

        disk.start_job(remove, _ignore)

    def truncate(self, log: Log, offset: int, done: Callable[[], None]) -> None:
        """Truncate a log safely; what was cut off cannot come back after a power cut once done is called. Waits for a
        checkpoint under way, then blocks for a few syncs."""

        def cut(error: DiskError | None) -> None:
            if error is not None:
                raise error
            log.flush()
            done()

        self.truncate_many([Cut(log, offset)], cut)

    def truncate_many(self, cuts: Sequence[Cut], done: Callable[[DiskError | None], None]) -> None:
        """Cut these logs, with at most two syncs for what the checkpoints say of them; waits for a checkpoint under
        way. Recovery points and start offsets on disk are lowered before anything is cut, so that recovery never
        believes them of what is written there later. When done is called the logs are shorter; that they stay so
        after a power cut is sure once each was flushed. After an error some may have been cut."""
        if self._round is not None and not self.closed:
            self._after_round.append(lambda: self.truncate_many(cuts, done))
            return
        if self.closed:
            done(DiskError(f"{self.path} is not in use any more"))
            return
        try:
            self._cut([cut for cut in cuts if not cut.log.closed and cut.wanted()])
        except DiskError as error:
            done(error)
            return
        done(None)

    def _cut(self, cuts: list[Cut]) -> None:
        lower_point = lower_start = lower_cleaned = False
        for cut in cuts:
            log = cut.log
            log.write()
            end = cut.end()
            if end < log.checkpointed_end:
                log.checkpointed_end, lower_point = end, True
            key = (log.topic, log.partition)
            if end < self.cleaned_offsets.get(key, 0):
                self.cleaned_offsets[key], lower_cleaned = end, True
            if end < log.start_offset:
                log.start_offset, lower_start = max(end, log.segments.items[0].base_offset), True
                log.note_starts()
            if cut.seed is not None:
                log.start_offset, lower_start = cut.seed.start_offset, True
                log.note_starts()
        if lower_point:
            self._write_offsets(names.RECOVERY_POINTS, self._current_recovery_points())
        if lower_start:
            self.write_start_offsets()
        for cut in cuts:
            key = (cut.log.topic, cut.log.partition)
            if cut.seed is not None:
                self.local_starts.keep({key: cut.offset})
            elif cut.end() < self.local_starts.of(key) and self.local_starts.forget([key]):
                self.local_starts.write()
        if lower_cleaned:
            self._write_cleaned_offsets()
        for cut in cuts:
            cut.carry_out()

    # --- logs that move between directories: relocation.py ---------------------------------------------------------

    def reopened(self, log: Log, path: str) -> Log:
        """The copy of a log at that path, opened; DiskError if it is not as long. Blocks."""
        found = Log.open(
            self.disk,
            path,
            topic=log.topic,
            partition=log.partition,
            config=log.config,
            clock=self.clock,
            recovery_point=log.end_offset,
            start_offset=log.start_offset,
            local_start=self.local_starts.of((log.topic, log.partition)),
            clean=True,
            topic_id=log.topic_id,
            sync=False,
        )
        if found.end_offset != log.end_offset:
            raise DiskError(f"{path}: the copy ends at {found.end_offset} instead of {log.end_offset}")
        return found

    def take_from(self, source: LogDirectory, log: Log) -> None:
        """A log that was another directory's lives here now."""
        key = (log.topic, log.partition)
        source.logs.pop(key, None)
        self.logs[key] = log
        self._recovery_points.pop(key, None)
        self._start_offsets.pop(key, None)
        cleaned = source.cleaned_offsets.pop(key, None)
        if cleaned is not None:
            self.cleaned_offsets[key] = cleaned

    @property
    def checkpointing(self) -> bool:
        """Whether a checkpoint is under way: no log may come or go."""
        return self._round is not None

    # --- checkpoints -------------------------------------------------------------------------------------------

    def checkpoint_due(self) -> bool:
        """Whether so much was written since the last checkpoint that a crash now would make for a slow start."""
        if self._round is not None:
            return False
        return costly(self.logs.values())

    def start_checkpoint(
        self, high_watermarks: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]
    ) -> bool:
        """Checkpoint in the background; False (and done is not called) if one is under way.

        Logs with something queued are left for the next one, and so are those with the least to record if there are
        very many. Afterwards everything captured is durable.
        """
        if self._round is not None:
            return False
        checkpoint = CheckpointRound(self.disk, self.path, self._lines)
        try:
            self._capture(checkpoint, high_watermarks, CHECKPOINT_LOGS_MAX)
            checkpoint.write()
        except DiskError as error:
            checkpoint.abandon()
            refusal = error
            self.disk.start_job(_nothing, lambda _: done(refusal))
            return True
        self._round = checkpoint

        def finished(failure: Exception | None) -> None:
            self._round = None
            try:
                if failure is None and not self.closed:
                    self._complete(checkpoint)
                else:
                    checkpoint.abandon()
            except DiskError as error:
                failure = error
            done(failure)
            waiting, self._after_round = self._after_round, []
            for action in waiting:
                action()

        def synced(failure: Exception | None) -> None:
            if failure is not None or self.closed:
                finished(failure)
                return
            try:
                checkpoint.settle(self._current_recovery_points, self.cleaned_offsets)
            except DiskError as error:
                finished(error)
                return
            self.disk.start_job(checkpoint.background_record, finished)

        self.disk.start_job(checkpoint.background_sync, synced)
        return True

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, int] | None = None) -> None:
        """The same, blocking: for shutdown and tests."""
        checkpoint = CheckpointRound(self.disk, self.path, {})  # one in the background may still be at its lines
        self._capture(checkpoint, self.high_watermarks if high_watermarks is None else high_watermarks, None)
        checkpoint.write()
        checkpoint.background_sync()
        checkpoint.settle(self._current_recovery_points, self.cleaned_offsets)
        checkpoint.background_record()
        self._complete(checkpoint)

    def _capture(
        self, checkpoint: CheckpointRound, high_watermarks: Mapping[TopicPartition, int], limit: int | None
    ) -> None:
        """Into this round go the logs with something new; if there are more than limit, those that recovery would have
        to read most of."""
        waiting = census.unrecorded(list(self.logs.values()))
        self.left_out = limit is not None and len(waiting) > limit
        if limit is not None and self.left_out:
            waiting.sort(key=recovery_cost, reverse=True)
            del waiting[limit:]
        for log in waiting:
            checkpoint.capture(log)
        checkpoint.high_watermarks = dict(high_watermarks)

    def _complete(self, checkpoint: CheckpointRound) -> None:
        if not checkpoint.complete():  # deleted meanwhile: take the recovery point on disk back
            self._outdated[names.RECOVERY_POINTS] = None
            self._try_outdated()
        self.high_watermarks = checkpoint.high_watermarks
        self._written_cleaned_offsets = checkpoint.cleaned_offsets
        if any(key not in self.cleaned_offsets for key in checkpoint.cleaned_offsets):
            self._outdated[names.CLEANED_OFFSETS] = None  # deleted meanwhile
            self._try_outdated()

    def close(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int) -> None:
        """Close every log, write the checkpoints, and leave the clean-shutdown marker last of all."""
        if self.closed:
            return
        self.closed = True
        if self._round is not None:
            self._round.abandon()
        for log in self.logs.values():
            log.write()
        self.write_checkpoints(high_watermarks)
        for log in self.logs.values():
            log.close(sync=False)
        self.disk.sync_all()
        for log in self.logs.values():
            log.checkpointed_end = log.durable_end = log.end_offset
        self._write_offsets(names.RECOVERY_POINTS, self._current_recovery_points())
        self._write_offsets(names.START_OFFSETS, self._current_start_offsets())
        self._write_offsets(names.HIGH_WATERMARKS, high_watermarks)
        self.disk.replace_file(f"{self.path}/{names.CLEAN_SHUTDOWN}", text.render_clean_shutdown(broker_epoch))

    # --- files -------------------------------------------------------------------------------------------------

    def _open(self, topic: str, partition: int, config: LogConfig, topic_id: bytes | None, sync: bool) -> Log:
        key = (topic, partition)
        recovery_point, local_start = self._recovery_points.pop(key, 0), self.local_starts.of(key)
        log = Log.open(
            self.disk,
            self._directory_of(topic, partition),
            topic=topic,
            partition=partition,
            config=config,
            clock=self.clock,
            recovery_point=recovery_point,
            start_offset=self._start_offsets.pop(key, 0),
            local_start=local_start,
            clean=self.clean,
            topic_id=topic_id,
            sync=sync,
        )
        self._too_high = self._too_high or log.checkpointed_end < recovery_point
        if log.local_start_offset < local_start and self.local_starts.forget([key]):
            self.disk.sync_dir(log.directory)
            self.local_starts.write()  # it began anew, below: nothing of that may be taken for superfluous
        return log

    def _hold(self, log: Log) -> Log:
        key = (log.topic, log.partition)
        if self.cleaned_offsets.get(key, 0) > log.end_offset:
            del self.cleaned_offsets[key]  # said of more than is there
        self.logs[key] = self.everywhere[key] = log
        return log

    def _directory_of(self, topic: str, partition: int) -> str:
        return f"{self.path}/{names.partition_dir(topic, partition)}"


def _nothing() -> None:
    """A job that only reports back later."""


def _ignore(failure: Exception | None) -> None:
    """What could not be removed is removed at the next start."""
