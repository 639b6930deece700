"""Flush rounds: everything written since the last round becomes durable together, one round at a time.

While a round is on its way to the disk, the writes of many wake-ups gather for the next one: that is the group commit.
After a failed round there is never another, since it might succeed over pages that are lost: the log directory goes
offline (ADR 0002).
"""

from __future__ import annotations

from collections.abc import Callable

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

    @property
    def running(self) -> bool:
        """Whether a round is on its way."""
        return self._running

    def start(self) -> None:
        """Begin a round if something waits for one and none is under way."""
        if self._running or self._failed or not self.hub.unflushed:
            return
        partitions, self.hub.unflushed = self.hub.unflushed, []
        files: list[File] = []
        for partition in partitions:
            if partition.closed:
                continue
            ticket = partition.begin_flush()
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
