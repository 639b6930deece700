"""A partition on a simulated disk, driven by hand: alone, or as a leader whose followers are numbers."""

from __future__ import annotations

from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, Log
from tapelog.replication.hub import Hub
from tapelog.replication.isr import IsrChange
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import AppendWaiter, FetchWaiter
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch

ME, OTHER, THIRD = 1, 2, 3


class Told(AppendWaiter):
    """Notes what it is told: index and error code."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.deadline_ms = 1 << 60

    def committed(self, index: int) -> None:
        self.told.append((index, 0))

    def failed(self, index: int, code: int) -> None:
        self.told.append((index, code))

    def overdue(self, now_ms: int) -> bool:
        return self.deadline_ms <= now_ms


class Reader(FetchWaiter):
    """A fetch that waits."""

    def retry(self) -> None:
        self.ripe = False


class Bench:
    """One partition and what it needs."""

    def __init__(self, **configs: str) -> None:
        self.hub, self.clock, self.told = Hub(), SimClock(), Told()
        self.hub.node_id = ME
        self.hub.alive = {ME: 11, OTHER: 12, THIRD: 13}
        self.now_ms = 100_000
        self.disk = SimDisk(SimEntropy(1))
        config = LogConfig({name.replace("_", "."): value for name, value in configs.items()})
        self.disk.mkdir("t-0")
        log = Log.open(self.disk, "t-0", topic="t", partition=0, config=config, clock=self.clock)
        self.partition = Partition(self.hub, log, "t", b"\1" * 16, 0, 0)

    def lead(
        self,
        replicas: tuple[int, ...] = (ME, OTHER, THIRD),
        isr: tuple[int, ...] = (ME, OTHER, THIRD),
        leader_epoch: int = 1,
        partition_epoch: int = 1,
    ) -> Partition:
        """Lead with followers."""
        self.partition.lead(leader_epoch, partition_epoch, replicas, isr, self.now_ms)
        return self.partition

    def append(self, index: int, value: bytes = b"v", acks: int = -1) -> int:
        """Append a record and wait for it under this number; its offset."""
        batch = build_batch([Record(0, self.clock.wall_ms(), b"k", value)])
        offset = self.partition.append(batch, 0, len(batch), CLIENT).last_offset
        if acks == -1:
            self.partition.park(offset + 1, self.told, index)
        elif acks == 1:
            self.partition.park_local(offset + 1, self.told, index)
        return offset

    def flush(self) -> None:
        """One flush round, to its end."""
        ticket = self.partition.begin_flush()
        for file in ticket.files:
            file.sync()
        self.partition.flushed(ticket)

    def store(self, *indexes: int, acks: int = -1) -> None:
        """Append a record under each number, write and flush."""
        for index in indexes:
            self.append(index, acks=acks)
        self.partition.write()
        self.flush()

    def claim(self, replica: int, offset: int, after_ms: int = 0) -> None:
        """A fetch of a follower whose disk has everything below offset."""
        self.now_ms += after_ms
        self.partition.follower_fetched(replica, offset, self.hub.alive.get(replica, 10 + replica), self.now_ms)

    def asked(self) -> IsrChange:
        """The change of the ISR that is on its way."""
        assert self.partition.leadership is not None
        change = self.partition.leadership.in_sync.asked
        assert change is not None
        assert self.hub.isr_changes.pop() is self.partition
        assert not self.hub.isr_changes, "asked for once"
        return change

    def agree(self) -> IsrChange:
        """The controller makes the change that was asked for."""
        change = self.asked()
        self.partition.isr_agreed(change, change.ids, change.partition_epoch + 1, self.now_ms)
        return change

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed ISR."""
        assert self.partition.leadership is not None
        return self.partition.leadership.in_sync.isr

    @property
    def high_watermark(self) -> int:
        return self.partition.high_watermark
