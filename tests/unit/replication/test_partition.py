"""A partition on its leader: who is told when, that the high watermark never goes back, and how it ends."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, Log
from tapelog.replication.hub import Hub
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import AppendWaiter, FetchWaiter
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch


class Told(AppendWaiter):
    """Notes what it is told: index and error code."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def committed(self, index: int) -> None:
        self.told.append((index, 0))

    def failed(self, index: int, code: int) -> None:
        self.told.append((index, code))


class Reader(FetchWaiter):
    """A fetch that waits."""

    def retry(self) -> None:
        self.ripe = False


class Bench:
    """A partition on a simulated disk, driven by hand."""

    def __init__(self, **configs: str) -> None:
        self.hub, self.clock, self.told = Hub(), SimClock(), Told()
        self.disk = SimDisk(SimEntropy(1))
        config = LogConfig({name.replace("_", "."): value for name, value in configs.items()})
        self.disk.mkdir("t-0")
        log = Log.open(
            self.disk,
            "t-0",
            topic="t",
            partition=0,
            config=config,
            clock=self.clock,
            recovery_point=0,
            start_offset=0,
            clean=False,
        )
        self.partition = Partition(self.hub, log, "t", b"\1" * 16, 0, 0)

    def append(self, index: int, value: bytes = b"v") -> int:
        """Append a record and wait for it under this number; its offset."""
        batch = build_batch([Record(0, self.clock.wall_ms(), b"k", value)])
        offset = self.partition.append(batch, 0, len(batch), CLIENT).last_offset
        self.partition.park(offset + 1, self.told, index)
        return offset

    def flush(self) -> None:
        """One flush round, to its end."""
        ticket = self.partition.begin_flush()
        for file in ticket.files:
            file.sync()
        self.partition.flushed(ticket)


def test_waiters_are_told_in_order_when_the_flush_that_covers_them_ends() -> None:
    bench = Bench()
    bench.append(1)
    bench.append(2)
    assert bench.hub.dirty == [bench.partition], "queued once"
    bench.partition.write()
    ticket = bench.partition.begin_flush()
    bench.append(3)
    bench.partition.write()
    bench.partition.flushed(ticket)
    assert bench.told.told == [(1, 0), (2, 0)]
    assert bench.partition.high_watermark == 2
    bench.flush()
    assert bench.told.told == [(1, 0), (2, 0), (3, 0)]
    bench.partition.invariants()


def test_in_page_cache_mode_a_write_is_enough() -> None:
    bench = Bench(tapelog_flush="page-cache")
    bench.append(1)
    assert bench.told.told == []
    bench.partition.write()
    assert bench.told.told == [(1, 0)]
    assert bench.hub.unflushed == []


def test_a_write_that_fails_tells_those_whose_records_are_taken_back() -> None:
    bench = Bench()
    bench.append(1)
    bench.partition.write()
    bench.disk.capacity_bytes = bench.disk.total_bytes() - bench.disk.free_bytes()
    bench.append(2)
    bench.append(3)
    with pytest.raises(DiskFullError):
        bench.partition.write()
    storage = ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.told.told == [(2, storage), (3, storage)]
    bench.flush()
    assert bench.told.told[2:] == [(1, 0)]
    bench.disk.capacity_bytes = None
    assert bench.append(4) == 1, "the offsets are free again"


def test_a_refused_batch_queues_nothing() -> None:
    bench = Bench(max_message_bytes="100")
    batch = build_batch([Record(0, 0, None, b"x" * 200)])
    with pytest.raises(KafkaError):
        bench.partition.append(batch, 0, len(batch), CLIENT)
    assert bench.hub.dirty == []


def test_the_high_watermark_never_goes_back() -> None:
    bench = Bench(tapelog_flush="page-cache")
    bench.append(1)
    bench.partition.write()
    assert bench.partition.high_watermark == 1
    bench.partition.page_cache = False
    ticket = bench.partition.begin_flush()
    bench.append(2)
    bench.partition.write()
    bench.partition.flushed(ticket)
    assert bench.partition.high_watermark == 1
    bench.flush()
    assert bench.partition.high_watermark == 2


def test_a_closed_partition_tells_everybody_and_ignores_late_flushes() -> None:
    bench = Bench()
    reader = Reader()
    bench.partition.add_fetch(reader)
    bench.append(1)
    bench.partition.write()
    ticket = bench.partition.begin_flush()
    bench.partition.close()
    assert bench.told.told == [(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    assert bench.hub.ripe == [reader]
    bench.partition.flushed(ticket)
    bench.partition.write()
    assert bench.partition.high_watermark == 0


def test_a_waiting_fetch_is_woken_once_however_much_moves() -> None:
    bench = Bench(tapelog_flush="page-cache")
    reader, gone = Reader(), Reader()
    bench.partition.add_fetch(reader)
    bench.partition.add_fetch(gone)
    bench.partition.remove_fetch(gone)
    bench.partition.remove_fetch(gone)
    for number in range(3):
        bench.append(number)
        bench.partition.write()
    assert bench.hub.ripe == [reader]


def test_only_watched_partitions_report_their_high_watermark() -> None:
    bench = Bench(tapelog_flush="page-cache")
    bench.append(1)
    bench.partition.write()
    assert bench.hub.advanced == []
    bench.partition.watched = True
    bench.append(2)
    bench.partition.write()
    assert bench.hub.advanced == [bench.partition]


def test_who_waits_for_what_is_already_committed_is_told_at_once() -> None:
    bench = Bench()
    bench.append(1)
    bench.partition.write()
    bench.flush()
    bench.partition.park(1, bench.told, 9)
    assert bench.told.told == [(1, 0), (9, 0)]
