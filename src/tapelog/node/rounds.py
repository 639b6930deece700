"""Flush rounds: everything written since the last round becomes durable together, one round per disk at a time.

While a round is on its way to the disk, the writes of many wake-ups gather for the next one: that is the group commit.
After a failed round there is never another on that disk, since it might succeed over pages that are lost: the log
directory goes offline (ADR 0002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapelog.base.ports import Disk, DiskError, File
from tapelog.log.log import FlushTicket
from tapelog.replication.hub import Hub
from tapelog.replication.partition import Partition


class FlushRounds:
    """Starts rounds over `hub.unflushed` and tells the partitions when theirs is done."""

    def __init__(self, hub: Hub, disk: Disk, failed: Callable[[DiskError], None]) -> None:
        self.hub = hub
        self.disk = disk
        self.failed = failed
        self.rounds = 0
        self._under_way: list[tuple[Partition, FlushTicket]] = []
        self._running = False
        self._failed = False
        self._seen = -1

    @property
    def running(self) -> bool:
        """Whether a round is on its way."""
        return self._running

    def stuck(self) -> bool:
        """Whether the same round is under way as at the last look: the disk is slow, or hangs."""
        before, self._seen = self._seen, self.rounds if self._running else -1
        return self._running and before == self.rounds

    def start(self) -> None:
        """Begin a round if something waits for one and none is under way."""
        if self._running or self._failed or not self.hub.unflushed:
            return
        partitions, self.hub.unflushed = self.hub.unflushed, []
        files: list[File] = []
        for partition in partitions:
            if partition.closed:
                continue
            try:
                ticket = partition.begin_flush()
            except DiskError as error:  # opening one of its files failed
                self._done(error)
                return
            files.extend(ticket.files)
            self._under_way.append((partition, ticket))
        self._running = True
        self.rounds += 1
        self.disk.start_flush(files, self._done)

    def _done(self, error: DiskError | None) -> None:
        self._running = False
        finished, self._under_way = self._under_way, []
        if error is not None:
            self._failed = True
            self.failed(error)
            return
        for partition, ticket in finished:
            partition.flushed(ticket)


class DiskRounds:
    """The flush rounds of a node: those of its only disk, or of each of several."""

    def __init__(self, hub: Hub, disks: Sequence[Disk], failed: Callable[[DiskError, Disk], None]) -> None:
        self.hub = hub
        self.failed = failed
        several = len(disks) > 1
        self.each: list[FlushRounds] = [self._of(disk, Hub() if several else hub) for disk in disks]

    def _of(self, disk: Disk, hub: Hub) -> FlushRounds:
        return FlushRounds(hub, disk, lambda error: self.failed(error, disk))

    def start(self) -> None:
        """Begin a round on every disk where something waits and none is under way."""
        each = self.each
        if len(each) == 1:
            each[0].start()
            return
        if self.hub.unflushed:
            waiting, self.hub.unflushed = self.hub.unflushed, []
            for partition in waiting:
                disk = partition.log.disk
                for rounds in each:
                    if rounds.disk is disk:
                        rounds.hub.unflushed.append(partition)
                        break
        for rounds in each:
            rounds.start()

    def stuck(self) -> list[Disk]:
        """The disks that have been busy with the same round since the last look."""
        return [rounds.disk for rounds in self.each if rounds.stuck()]
