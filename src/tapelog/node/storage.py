"""The disks of a node: which log directories work, and what happens when one does not.

A directory that fails takes its partitions offline and is told to the controller; the node goes on with the others.
When it was the last one, or the metadata's, the node ends (ADR 0016). A full disk is no failure.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DamageError, Disk, DiskError, DiskFullError
from tapelog.log import names
from tapelog.log.directories import LogDirectories
from tapelog.log.manager import LogDirectory
from tapelog.log.segment import FileRegion
from tapelog.node.registration import cordoned
from tapelog.node.space import Space
from tapelog.replication.partition import Partition
from tapelog.server.node_api import LogDir
from tapelog.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

_STORAGE_ERROR: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
PROBE: Final = ".probe"


class Storage:
    """See the module."""

    def __init__(self, node: NodeCore, disk: Disk, others: Mapping[str, Disk | DiskError] | None) -> None:
        self.node = node
        self.metadata_path = node.config.metadata_log_dir
        self.disks: dict[str, Disk | DiskError] = {self.metadata_path: disk, **(others or {})}
        self._tested: list[Disk] = []
        self.lost_homes: dict[tuple[str, int], bytes] = {}
        """The directories, by id, of replicas that were taken offline."""
        self.space = Space(node)
        missing = [path for path in node.config.log_dirs if path not in self.disks]
        assert not missing, f"no disks for {missing}"

    @property
    def working(self) -> list[Disk]:
        """The disks of all directories that could be taken."""
        return [one for one in self.disks.values() if not isinstance(one, DiskError)]

    def open(self) -> LogDirectories:
        """All directories; those that cannot be opened are offline from the beginning."""
        node, config = self.node, self.node.config
        found = LogDirectories.open(
            self.disks,
            config.log_dirs,
            self.metadata_path,
            clock=node.clock,
            entropy=node.entropy,
            cluster_id=config.cluster_id,
            node_id=config.node_id,
        )
        for offline in found.offline.values():
            log.error("the log directory %s is offline: %s", offline.path, offline.reason)
        if not found.items:
            raise DiskError("no log directory works: " + "; ".join(one.reason for one in found.offline.values()))
        return found

    def broke(self, error: DiskError, disk: Disk) -> None:
        """A disk failed in a way that leaves its contents in doubt: nothing more is acknowledged from it."""
        node = self.node
        directory = node.directory.of(disk)
        if directory is None or node.failure is not None:
            return
        node.directory.fail(directory, str(error))
        log.error("the log directory %s is offline: %s", directory.path, error)
        fatal = directory is node.directory.metadata or not node.directory.items
        if fatal:
            what = "the metadata is there" if directory is node.directory.metadata else "no other one works"
            node.failure = DiskError(f"the log directory {directory.path} failed, and {what}: {error}")
        self._take_offline(directory, everything=fatal)
        if fatal:
            assert node.failure is not None
            node.coordinators.resign(list(node.coordinators.runtimes))
            node.halt(node.failure)
        elif node.opened:
            self.tell()

    def suspect(self, error: DiskError, disk: Disk) -> None:
        """Reading a file failed. That may be one bad sector, and then it concerns who reads it; or the disk is dead:
        see whether it can still be written, in the background."""
        directory = self.node.directory.of(disk)
        if directory is None or disk in self._tested or isinstance(error, DiskFullError):
            return
        self._tested.append(disk)
        path = f"{directory.path}/{PROBE}"

        def probe() -> None:
            disk.replace_file(path, PROBE.encode())
            disk.remove(path)

        def probed(failure: Exception | None) -> None:
            self._tested.remove(disk)
            if isinstance(failure, DiskError) and not isinstance(failure, DiskFullError):
                self.broke(failure, disk)
            else:
                self.node.dispatcher.complain(f"{error}. The rest of {directory.path} works")

        disk.start_job(probe, probed)

    def unreadable(self, region: FileRegion, error: DiskError) -> None:
        """A part of a log could not be read for sending, or is damaged."""
        node, path = self.node, region.file.path
        parts = path.rsplit("/", 2)
        key = names.parse_partition_dir(parts[1]) if len(parts) == 3 else None
        held = node.directory.logs.get(key) if key is not None else None
        if held is None or held.directory != path.rpartition("/")[0]:
            return
        if isinstance(error, DamageError):
            node.scrubbing.suspect(held, names.offset_of(parts[2], names.LOG), region)
        elif not held.closed:
            self.suspect(error, held.disk)

    def _take_offline(self, directory: LogDirectory, *, everything: bool) -> None:
        node = self.node
        for partition in node.partitions.all():
            if (everything or partition.log.disk is directory.disk) and not partition.offline:
                led = partition.leading
                self.lost_homes[partition.topic, partition.index] = directory.directory_id
                node.partitions.fetchers.stop(partition)
                partition.offline = True
                partition.close(_STORAGE_ERROR)
                if led:
                    node.coordinators.lost(partition)
                if not everything:
                    self._assign(partition)

    def _assign(self, partition: Partition) -> None:
        """The controller must know that a replica was there to take its lead away."""
        image = self.node.image.partition(partition.topic, partition.index)
        if image is not None:
            self.node.partitions.assignments.look(partition.topic_id, partition.index, image)

    def described(self) -> list[LogDir]:
        """Every log directory, in the order of the configuration."""
        cordoned_ids = cordoned(self.node)
        found = []
        for path in self.node.config.log_dirs:
            disk, total, free = self.disks[path], -1, -1
            working = None if isinstance(disk, DiskError) else disk
            home = self.node.directory.of(working) if working is not None else None
            if working is not None and home is not None:
                total, free = _space(working)
                free = 0 if self.space.is_full(path) else free  # the reserve is not for those who ask
            shunned = home is not None and home.directory_id in cordoned_ids
            found.append(LogDir(path, working, total, free, shunned, home is None))
        return found

    # --- what the controller is told -----------------------------------------------------------------------------

    @property
    def lost_ids(self) -> list[bytes]:
        """Directories that failed, as far as their ids are known."""
        return [one.directory_id for one in self.node.directory.offline.values() if one.directory_id]

    @property
    def untold(self) -> list[bytes]:
        """Those of them that the image still has as ours."""
        broker = self.node.image.brokers.get(self.node.node_id)
        return [id for id in self.lost_ids if broker is not None and id in broker.log_dirs]

    def tell(self) -> None:
        """Let the controller know what failed, now; a node that cannot make itself heard ends after a while, so that
        others may lead what it cannot."""
        node = self.node
        if not self.untold:
            return
        if node.alone:
            lost = self.lost_ids
            node.change_metadata(
                lambda image: node.controller.directories_failed(image, node.node_id, lost), self._told
            )
            return
        node.lifecycle.hurry()
        limit_ms = node.setting_int("log.dir.failure.timeout.ms")
        node.timers.after(limit_ms, self._insist)

    def _told(self, answer: KafkaError | None) -> None:
        if isinstance(answer, KafkaError):
            self.node.timers.after(1000, self.tell)

    def _insist(self) -> None:
        node = self.node
        if self.untold and not node.parted and node.failure is None:
            node.give_up(
                "a log directory failed and no controller could be told in log.dir.failure.timeout.ms: it stops, so "
                "that others lead its partitions. Repair the directory, or take it out of log_dirs, and start again"
            )


def _space(disk: Disk) -> tuple[int, int]:
    """Total and free bytes; -1 where the disk does not say."""
    try:
        return disk.total_bytes(), disk.free_bytes()
    except (DiskError, OSError):
        return -1, -1
