"""Flush rounds: everything written since the last round becomes durable together, one round per disk at a time.

While a round is on its way to the disk, the writes of many wake-ups gather for the next one: that is the group commit.
After a failed round there is never another on that disk, since it might succeed over pages that are lost: the log
directory goes offline (ADR 0002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tapelog.base.ports import Clock, Disk, DiskError, File
from tapelog.log.log import FlushTicket
from tapelog.replication.hub import Hub
from tapelog.replication.partition import Partition

PARTITIONS_LEAST: Final = 16
FILES_PER_PARTITION: Final = 4
"""Of the files that may be open, so many for each partition that is written or in a round."""
HANGS_LOOKS: Final = 20
"""A disk of several that was busy with the same round at so many looks is left alone by the others."""
NEVER: Final = -1
"""How long a round took that came to nothing."""


class FlushRounds:
    """Starts rounds over `hub.unflushed` and tells the partitions when theirs is done; `ended` hears of every round,
    how many bytes it was about and how many milliseconds it took (NEVER: it failed)."""

    def __init__(
        self,
        hub: Hub,
        disk: Disk,
        clock: Clock,
        failed: Callable[[DiskError], None],
        ended: Callable[[int, int], None] | None = None,
    ) -> None:
        self.hub = hub
        self.disk = disk
        self.clock = clock
        self.failed = failed
        self.ended: Callable[[int, int], None] = ended if ended is not None else _ignore
        self.rounds = 0
        self.partitions_max = max(PARTITIONS_LEAST, disk.handles.files_max // FILES_PER_PARTITION)
        """No more partitions in a round, and no more that wait for the next: their files are open."""
        self._stopwatch: Callable[[], int] | None = None
        self._timed: Callable[[int], None] | None = None
        self._between: list[Callable[[], None]] = []
        self._bytes = 0
        self._began_ms = 0
        self._began_ns = 0
        self._under_way: list[tuple[Partition, FlushTicket]] = []
        self._running = False
        self._failed = False
        self._seen = -1
        self._looks = 0

    @property
    def running(self) -> bool:
        """Whether a round is on its way."""
        return self._running

    def stuck(self) -> bool:
        """Whether the same round is under way as at the last look: the disk is slow, or hangs."""
        before, self._seen = self._seen, self.rounds if self._running else -1
        same = self._running and before == self.rounds
        self._looks = self._looks + 1 if same else 0
        return same

    @property
    def hangs(self) -> bool:
        """Whether that has been so for long."""
        return self._looks >= HANGS_LOOKS

    def time(self, stopwatch: Callable[[], int] | None, told: Callable[[int], None] | None) -> None:
        """Tell how many microseconds each round takes from now on, by a stopwatch of nanoseconds; None: no more."""
        self._stopwatch, self._timed = stopwatch, told
        self._began_ns = 0

    def between(self, action: Callable[[], None]) -> None:
        """Do something between two rounds: now, or when the one under way has ended. For a few changes of names, each
        of which would wait for the journal in the middle of a sync."""
        if self._running:
            self._between.append(action)
        else:
            action()

    def waiting_bytes(self) -> int:
        """What was written there and is not durable."""
        return self._bytes + sum(partition.unflushed_bytes for partition in self.hub.unflushed)

    def waiting(self) -> list[Partition]:
        """Those in the round under way, and those that wait for the next."""
        return [*[partition for partition, _ in self._under_way], *self.hub.unflushed]

    def start(self) -> None:
        """Begin a round if something waits for one and none is under way."""
        if self._running or not self.hub.unflushed:
            return
        partitions, self.hub.unflushed = self.hub.unflushed, []
        if len(partitions) > self.partitions_max:
            partitions, self.hub.unflushed = partitions[: self.partitions_max], partitions[self.partitions_max :]
        self._bytes = 0
        for partition in partitions:
            self._bytes += partition.unflushed_bytes
            partition.unflushed_bytes = 0
        if self._failed:
            size, self._bytes = self._bytes, 0
            self.ended(size, NEVER)
            return
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
        self._began_ms = self.clock.monotonic_ms()
        if self._stopwatch is not None:
            self._began_ns = self._stopwatch()
        self.rounds += 1
        self.disk.start_flush(files, self._done)

    def _done(self, error: DiskError | None) -> None:
        self._running = False
        if self._stopwatch is not None and self._timed is not None and self._began_ns and error is None:
            self._timed((self._stopwatch() - self._began_ns) // 1000)
        finished, self._under_way = self._under_way, []
        size, self._bytes = self._bytes, 0
        self.ended(size, self.clock.monotonic_ms() - self._began_ms if error is None else NEVER)
        if error is not None:
            self._failed = True
            self.failed(error)
        else:
            for partition, ticket in finished:
                partition.flushed(ticket)
        if self._between:
            actions, self._between = self._between, []
            for action in actions:
                action()


class DiskRounds:
    """The flush rounds of a node: those of its only disk, or of each of several."""

    def __init__(
        self,
        hub: Hub,
        disks: Sequence[Disk],
        clock: Clock,
        failed: Callable[[DiskError, Disk], None],
        ended: Callable[[int, int], None],
    ) -> None:
        self.hub = hub
        self.failed = failed
        self.ended = ended
        several = len(disks) > 1
        self.each: list[FlushRounds] = [self._of(disk, Hub() if several else hub, clock) for disk in disks]
        self._several = several

    def _of(self, disk: Disk, hub: Hub, clock: Clock) -> FlushRounds:
        return FlushRounds(hub, disk, clock, lambda error: self.failed(error, disk), self.ended)

    def of(self, disk: Disk) -> FlushRounds | None:
        """Those of one disk."""
        for rounds in self.each:
            if rounds.disk is disk:
                return rounds
        return None

    def room(self) -> int:
        """How many more partitions may be written before a round has ended."""
        waiting = len(self.hub.unflushed)
        if self._several:
            waiting += sum(len(rounds.hub.unflushed) for rounds in self.each if not rounds.hangs)
        return self.each[0].partitions_max - waiting

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

    def moved(self, partition: Partition) -> None:
        """Its log is on another disk now, where all of it is durable: the old one's rounds concern it no more."""
        for rounds in self.each:
            if rounds.hub is not self.hub and partition in rounds.hub.unflushed:
                rounds.hub.unflushed.remove(partition)
                self.hub.unflushed.append(partition)

    def hung_bytes(self) -> int:
        """What waits for disks that hang."""
        return sum(rounds.waiting_bytes() for rounds in self.each if rounds.hangs)

    def stuck(self) -> list[Partition]:
        """The partitions that wait for disks which have been busy with the same round since the last look."""
        late: list[Partition] = []
        for rounds in self.each:
            if rounds.stuck():
                late.extend(rounds.waiting())
        self.hub.hanging = [rounds.disk for rounds in self.each if rounds.hangs] if self._several else []
        return [*late, *self.hub.dirty] if late else late


def _ignore(size: int, took_ms: int) -> None:
    pass
