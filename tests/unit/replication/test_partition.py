"""A partition without followers: who is told when, that the high watermark never goes back, and how it ends."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.log.log import CLIENT
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.replication.bench import OTHER, THIRD, Bench, Reader


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


def test_in_page_cache_mode_whoever_asks_for_a_flush_in_time_is_answered_when_it_is_on_disk() -> None:
    bench = Bench(tapelog_flush="page-cache", flush_ms="1000")
    bench.append(1)
    bench.partition.write()
    assert bench.told.told == []
    bench.flush()
    assert bench.told.told == [(1, 0)]


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


def test_a_claim_that_moves_nothing_wakes_nobody() -> None:
    bench = Bench()
    bench.lead()
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert bench.high_watermark == 1
    reader = Reader()
    bench.partition.watched = True
    bench.partition.add_fetch(reader)
    for replica in (OTHER, THIRD):
        bench.claim(replica, 1, after_ms=1)
    assert bench.hub.ripe == [] and bench.hub.advanced == []


def test_who_waits_for_what_is_already_committed_is_told_at_once() -> None:
    bench = Bench()
    bench.append(1)
    bench.partition.write()
    bench.flush()
    bench.partition.park(1, bench.told, 9)
    assert bench.told.told == [(1, 0), (9, 0)]


@pytest.mark.parametrize("following", [False, True])
def test_what_a_committed_marker_ended_is_forgotten_though_nobody_reads(following: bool) -> None:
    bench, sender = Bench(), Bench()
    partition = bench.partition
    if following:
        partition.follow(2, 1)
    for sequence in range(3):
        record = Record(0, bench.clock.wall_ms(), b"k", b"v")
        batch = build_batch([record], producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        sender.partition.append(batch, 0, len(batch), CLIENT)
        sender.partition.append_marker(7, 0, True, 0, 0)
        sender.partition.write()
        region = sender.partition.log.read(2 * sequence, 1 << 20, 1 << 30, True)
        assert region is not None
        data = region.read()
        if following:
            partition.append_replicated(data, 0, len(data))
        else:
            partition.append(batch, 0, len(batch), CLIENT)
            partition.append_marker(7, 0, True, 0, 0)
        partition.write()
        assert len(partition.log.producers.undecided) == 1
        bench.flush()
        if following:
            partition.leader_says(2 * sequence + 2, 0)
        assert partition.log.producers.undecided == {}
