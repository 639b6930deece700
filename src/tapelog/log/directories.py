"""All log directories of a node: which of them work, what lies where, and where a new partition goes.

The node core opens one `LogDirectories` and uses it as if it were one directory; each `LogDirectory` in it has a `Disk`
of its own, so a log's `disk` names its home. A directory that fails is taken out with `fail` and stays out until the
next start. The cluster's metadata lives in one of them, or in a directory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from tapelog.base.ports import Clock, Disk, DiskError, Entropy
from tapelog.log.checkpoints import TopicPartition
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory, WrongDirectoryError


class OfflineDirectory:
    """A log directory that does not work: its id (empty where that could not be read) and why."""

    def __init__(self, path: str, directory_id: bytes, reason: str) -> None:
        self.path = path
        self.directory_id = directory_id
        self.reason = reason


class LogDirectories:
    """See the module."""

    def __init__(self, metadata: LogDirectory, everywhere: dict[TopicPartition, Log]) -> None:
        self.metadata = metadata
        self.items: list[LogDirectory] = []
        """Those that work and hold partitions, in the order of the configuration."""
        self.offline: dict[str, OfflineDirectory] = {}
        """Those that do not, by path."""
        self.logs = everywhere
        """Every open log of a directory that works, by (topic, partition)."""
        self.twins: dict[TopicPartition, list[LogDirectory]] = {}
        """Partitions with records in several directories: not opened before it is clear which copy counts."""

    @staticmethod
    def open(
        disks: Mapping[str, Disk | DiskError],
        log_dirs: Iterable[str],
        metadata_path: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cluster_id: str,
        node_id: int,
    ) -> LogDirectories:
        """Take possession of them: see LogDirectory.open. One that cannot be opened is offline, except for the
        metadata's: then DiskError. WrongDirectoryError also when an id is found in two of them."""
        everywhere: dict[TopicPartition, Log] = {}

        def opened(path: str) -> LogDirectory:
            disk = disks[path]
            if isinstance(disk, DiskError):
                raise disk
            return LogDirectory.open(
                disk,
                path,
                clock=clock,
                entropy=entropy,
                cluster_id=cluster_id,
                node_id=node_id,
                everywhere=everywhere,
            )

        metadata = opened(metadata_path)
        found = LogDirectories(metadata, everywhere)
        for path in log_dirs:
            if path == metadata_path:
                found.items.append(metadata)
                continue
            try:
                found.items.append(opened(path))
            except DiskError as error:
                found.offline[path] = OfflineDirectory(path, b"", str(error))
        found._check()
        return found

    # --- which, and where ----------------------------------------------------------------------------------------

    @property
    def every(self) -> list[LogDirectory]:
        """All that work, the metadata's among them."""
        if self.metadata in self.items or self.metadata.path in self.offline:
            return self.items
        return [self.metadata, *self.items]

    def of(self, disk: Disk) -> LogDirectory | None:
        """The directory on that disk; None once it has failed."""
        for directory in self.every:
            if directory.disk is disk:
                return directory
        return None

    def home(self, key: TopicPartition) -> LogDirectory | None:
        """The directory that has the partition's open log."""
        log = self.logs.get(key)
        return None if log is None else self.of(log.disk)

    def named(self, directory_id: bytes) -> LogDirectory | None:
        """The one with that id, if it works."""
        for directory in self.items:
            if directory.directory_id == directory_id:
                return directory
        return None

    def grouped(self, keys: Iterable[TopicPartition]) -> list[tuple[LogDirectory, list[TopicPartition]]]:
        """These open logs, by directory."""
        found: dict[str, tuple[LogDirectory, list[TopicPartition]]] = {}
        for key in keys:
            home = self.home(key)
            if home is not None:
                found.setdefault(home.path, (home, []))[1].append(key)
        return list(found.values())

    def emptiest(self, planned: Mapping[str, int], avoided: Collection[str] = ()) -> LogDirectory:
        """Where the next partition goes: where the fewest are, with those planned for each path; not to the avoided
        ones, unless there are no others."""
        wanted = [directory for directory in self.items if directory.path not in avoided] or self.items
        return min(wanted, key=lambda one: len(one.logs) + planned.get(one.path, 0))

    @property
    def directory_id(self) -> bytes:
        """The metadata directory's: the id under which this node votes."""
        return self.metadata.directory_id

    @property
    def ids(self) -> list[bytes]:
        """The ids of those that work and hold partitions."""
        return [directory.directory_id for directory in self.items]

    # --- how it was left -----------------------------------------------------------------------------------------

    @property
    def clean(self) -> bool:
        """Whether all were closed in good order (a new one has nothing to lose)."""
        return all(directory.clean or directory.new for directory in self.every)

    @property
    def previous_broker_epoch(self) -> int:
        """The broker epoch in which all of them were closed in good order; -1 if they were not, or not together."""
        epochs = {directory.previous_broker_epoch for directory in self.every if not directory.new}
        return epochs.pop() if len(epochs) == 1 and self.clean else -1

    def fail(self, directory: LogDirectory, reason: str) -> None:
        """It does not work any more: its logs are forgotten, and nothing is written to it again."""
        self.offline[directory.path] = OfflineDirectory(directory.path, directory.directory_id, reason)
        self.items = [other for other in self.items if other is not directory]
        directory.closed = True
        for key, log in directory.logs.items():
            log.closed = True
            self.logs.pop(key, None)

    # --- all at once ---------------------------------------------------------------------------------------------

    @property
    def high_watermarks(self) -> dict[TopicPartition, int]:
        """What the checkpoints said last."""
        if len(self.every) == 1:
            return self.metadata.high_watermarks
        return {key: offset for one in self.every for key, offset in one.high_watermarks.items()}

    def known_high_watermark(self, log: Log) -> int:
        """What the checkpoint of its directory said of a log; 0 if nothing."""
        home = self.of(log.disk)
        return 0 if home is None else home.high_watermarks.get((log.topic, log.partition), 0)

    def share(
        self, directory: LogDirectory, high_watermarks: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Of these, what concerns one directory."""
        if len(self.every) == 1:
            return high_watermarks
        return {key: high_watermarks[key] for key in directory.logs if key in high_watermarks}

    def start_checkpoint(
        self, high_watermarks: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]
    ) -> None:
        """One of each directory, in the background; done for each that was begun."""
        for directory in self.every:
            directory.start_checkpoint(self.share(directory, high_watermarks), done)

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """The same, blocking."""
        for directory in self.every:
            directory.write_checkpoints(self.share(directory, high_watermarks))

    def close(self, high_watermarks: Mapping[TopicPartition, int], broker_epoch: int) -> None:
        """Close each in good order; those that fail do not keep the others from it. Raises the first failure."""
        failure: DiskError | None = None
        for directory in self.every:
            try:
                directory.close(self.share(directory, high_watermarks), broker_epoch)
            except DiskError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _check(self) -> None:
        seen: dict[TopicPartition, LogDirectory] = {}
        ids: dict[bytes, LogDirectory] = {}
        for directory in self.every:
            twin = ids.setdefault(directory.directory_id, directory)
            if twin is not directory:
                raise WrongDirectoryError(
                    f"{directory.path} is a copy of {twin.path}: both have the same directory.id in meta.properties"
                )
        for directory in self.items:
            for key in directory.partitions():
                other = seen.setdefault(key, directory)
                if other is directory or directory.discard_empty(key):
                    continue
                if other.discard_empty(key):
                    seen[key] = directory
                else:
                    self.twins.setdefault(key, [other]).append(directory)
