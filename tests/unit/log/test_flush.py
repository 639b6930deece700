"""Durability: what a flush ticket covers, and what a failed write leaves behind — nothing."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskFullError
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways


def segments(bench: Bench) -> list[str]:
    return [name for name in bench.files() if name.endswith((".log", ".snapshot"))]


def test_durable_follows_the_flush_not_the_write() -> None:
    bench = Bench()
    bench.fill(3)
    assert (bench.log.written_end, bench.log.durable_end) == (3, 0)
    ticket = bench.log.begin_flush()
    bench.fill(2)
    assert bench.log.durable_end == 0
    bench.log.end_flush(ticket)
    assert (bench.log.written_end, bench.log.durable_end, bench.log.recovery_point) == (5, 3, 3)
    assert bench.log.needs_flush()


def test_a_ticket_names_the_files_written_since_the_last() -> None:
    bench = Bench({"segment.bytes": "500"})
    bench.log.flush()
    assert bench.log.begin_flush().files == []
    bench.fill(1)
    assert [file.path[-24:] for file in bench.log.begin_flush().files] == ["00000000000000000000.log"]
    bench.fill(8)
    names = sorted(file.path.rpartition("/")[2] for file in bench.log.begin_flush().files)
    assert names == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000004.index",
        "00000000000000000004.log",
        "00000000000000000004.timeindex",
        "00000000000000000008.log",
        "orders-0",
    ]


def test_a_flush_overtaken_by_a_truncation_declares_nothing_durable() -> None:
    bench = Bench()
    bench.fill(5)
    ticket = bench.log.begin_flush()
    bench.log.truncate_to(2)
    bench.fill(3)
    bench.log.end_flush(ticket)
    assert bench.log.durable_end == 0
    bench.log.flush()
    assert bench.log.durable_end == 5


def test_a_recovered_tail_is_durable() -> None:
    bench = Bench()
    bench.log.flush()
    bench.fill(5)
    bench.kill()
    assert bench.log.durable_end == 5
    bench.power_cut()
    assert bench.offsets() == list(range(5))


def test_unflushed_records_may_be_gone_after_a_power_cut_and_flushed_ones_are_not() -> None:
    lost = 0
    for seed in range(30):
        bench = Bench({"segment.bytes": "700"})
        bench.disk.entropy = type(bench.disk.entropy)(seed)
        bench.log.flush()
        bench.fill(7)
        bench.log.flush()
        bench.fill(6)
        bench.power_cut()
        assert bench.log.end_offset >= 7
        assert bench.offsets() == list(range(bench.log.end_offset))
        lost += bench.log.end_offset < 13
    assert lost > 10


def test_a_full_disk_undoes_everything_queued() -> None:
    bench = Bench({"segment.bytes": "1000"})
    for number in range(6):
        bench.append(bench.idempotent(number), epoch=1)
    before = (segments(bench), bench.log.size_bytes)
    bench.disk.capacity_bytes = 1 << 40
    bench.disk.capacity_bytes -= bench.disk.free_bytes() - 700
    for number in range(6, 30):
        bench.append(bench.idempotent(number), epoch=2, write=False)
    assert bench.log.end_offset == 30
    with pytest.raises(DiskFullError):
        bench.log.write()
    bench.log.invariants()
    assert bench.log.end_offset == bench.log.written_end == 6
    assert bench.log.producers.entries[7].last_sequence() == 5
    assert (segments(bench), bench.log.size_bytes) == before
    assert bench.offsets() == list(range(6))
    bench.disk.capacity_bytes = None
    for number in range(6, 30):
        bench.append(bench.idempotent(number), epoch=2)
    assert bench.offsets() == list(range(30))
    assert bench.log.leader_epoch_cache.entries() == [(1, 0), (2, 6)]
    bench.kill()
    assert bench.offsets() == list(range(30))


def test_a_full_disk_does_not_harm_a_new_producer() -> None:
    bench = Bench()
    bench.disk.capacity_bytes = 0
    with pytest.raises(DiskFullError):
        bench.append(bench.idempotent(0))
    bench.disk.capacity_bytes = None
    assert bench.log.producers.entries == {}
    assert not bench.append(bench.idempotent(0)).duplicate
