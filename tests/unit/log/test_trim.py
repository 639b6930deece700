"""Shorter logs: retention by time, size and start offset, DeleteRecords, truncation, rolling."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.base.timers import Timers
from tapelog.wire.errors import ErrorCode, KafkaError
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways

DAY_MS = 86_400_000


def run_retention(bench: Bench, high_watermark: int | None = None) -> int:
    """One retention run; returns how many segments went."""
    limit = bench.log.written_end if high_watermark is None else high_watermark
    plan = bench.log.retention_plan(bench.clock.wall_ms(), limit)
    bench.log.delete_segments(plan)
    bench.log.invariants()
    return len(plan)


def test_segments_roll_by_size() -> None:
    bench = Bench({"segment.bytes": "1000"})
    bench.fill(30)
    assert len(bench.log.segments.items) > 2
    assert all(segment.size <= 1000 for segment in bench.log.segments.items)


def test_segments_roll_in_the_middle_of_a_write() -> None:
    bench = Bench({"segment.bytes": "1000"})
    for _ in range(30):
        bench.append(bench.batch(b"v" * 30), write=False)
    bench.log.write()
    bench.log.invariants()
    assert len(bench.log.segments.items) > 2
    assert bench.offsets() == list(range(30))


def test_segments_roll_by_the_time_between_their_records() -> None:
    bench = Bench({"segment.ms": str(DAY_MS)})
    bench.fill(3)
    bench.clock.advance(DAY_MS)
    bench.fill(3)
    assert [segment.base_offset for segment in bench.log.segments.items] == [0, 3]


def test_segments_without_timestamps_roll_by_the_clock() -> None:
    bench = Bench({"segment.ms": "1000"})
    bench.append(bench.batch(b"v", at_ms=-1))
    bench.clock.advance(500)
    bench.append(bench.batch(b"v", at_ms=-1))
    bench.clock.advance(600)
    bench.append(bench.batch(b"v", at_ms=-1))
    assert [segment.base_offset for segment in bench.log.segments.items] == [0, 2]


def test_segments_roll_when_their_index_is_full() -> None:
    bench = Bench({"segment.index.bytes": "48", "index.interval.bytes": "0"})
    bench.fill(12)
    assert len(bench.log.segments.items) > 2
    assert bench.offsets() == list(range(12))


def test_retention_by_time_deletes_what_is_old() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "10000"})
    bench.fill(30)
    assert run_retention(bench) == 0
    bench.clock.advance(9_990)
    gone = run_retention(bench)
    assert 0 < gone < 5
    assert bench.log.start_offset == bench.log.segments.items[0].base_offset > 0
    bench.clock.advance(1_000_000)
    run_retention(bench)
    assert (bench.log.start_offset, bench.log.end_offset) == (30, 30)
    bench.fill(2)
    assert bench.offsets() == [30, 31]


def test_retention_by_time_goes_by_when_records_came_that_have_no_timestamp() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "10000"})
    bench.disk.timers = Timers(bench.clock)
    for _ in range(30):
        bench.append(bench.batch(b"v" * 30, at_ms=-1))
    bench.clock.advance(9_000)
    bench.append(bench.batch(b"v" * 30))
    assert run_retention(bench) == 0
    bench.clock.advance(1_001)
    assert run_retention(bench) > 2
    assert 20 < bench.log.start_offset <= 30


def test_retention_by_size_keeps_at_least_that_much() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.bytes": "2500"})
    bench.fill(60)
    run_retention(bench)
    assert 2500 <= bench.log.size_bytes <= 3500
    assert run_retention(bench) == 0


def test_retention_can_be_unlimited() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "-1"})
    bench.fill(30)
    bench.clock.advance(100 * 365 * DAY_MS)
    assert run_retention(bench) == 0


def test_retention_spares_what_is_not_committed() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "0"})
    bench.fill(30)
    bench.clock.advance(10)
    second = bench.log.segments.items[1].base_offset
    run_retention(bench, high_watermark=second)
    assert bench.log.start_offset == second


def test_compacted_topics_are_not_deleted_by_time() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "0", "cleanup.policy": "compact"})
    bench.fill(30)
    bench.clock.advance(10)
    assert run_retention(bench) == 0
    bench.log.increment_start_offset(20)
    assert run_retention(bench) > 0


def test_delete_records_hides_at_once_and_frees_with_the_next_run() -> None:
    bench = Bench({"segment.bytes": "1000"})
    bench.fill(30)
    size = bench.log.size_bytes
    assert bench.log.increment_start_offset(20)
    assert not bench.log.increment_start_offset(10)
    assert bench.offsets() == list(range(20, 30))
    assert run_retention(bench) > 0
    assert bench.log.size_bytes < size
    assert bench.log.start_offset == 20
    with pytest.raises(KafkaError) as caught:
        bench.log.increment_start_offset(31)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_deleted_segments_leave_no_files() -> None:
    bench = Bench({"segment.bytes": "1000", "retention.ms": "0"})
    bench.fill(30)
    bench.clock.advance(10)
    run_retention(bench)
    assert bench.files() == [
        "00000000000000000030.log",
        "00000000000000000030.snapshot",
        "partition.metadata",
    ]


def test_producers_outlive_the_segments_they_wrote_to() -> None:
    bench = Bench({"segment.bytes": "500", "retention.ms": "0"})
    for number in range(20):
        bench.append(bench.idempotent(number))
    bench.clock.advance(10)
    run_retention(bench)
    bench.kill()
    assert bench.log.producers.entries[7].last_sequence() == 19


def test_leader_epochs_of_deleted_records_go() -> None:
    bench = Bench({"segment.bytes": "500"})
    for number in range(20):
        bench.append(bench.batch(b"v" * 30), epoch=number // 5)
    bench.log.increment_start_offset(12)
    run_retention(bench)
    assert bench.log.leader_epoch_cache.entries() == [(2, 12), (3, 15)]


@pytest.mark.parametrize("target", [0, 1, 7, 8, 15, 29])
def test_truncation_leaves_a_log_that_works(target: int) -> None:
    bench = Bench({"segment.bytes": "1000", "index.interval.bytes": "200"})
    for number in range(30):
        bench.clock.advance(1)
        bench.append(bench.idempotent(number), epoch=number // 10)
    assert bench.log.truncate_to(target)
    bench.log.invariants()
    assert bench.log.end_offset == target
    assert bench.offsets() == list(range(target))
    entry = bench.log.producers.entries.get(7)
    assert (entry.last_sequence() if entry else -1) == target - 1
    assert bench.log.leader_epoch_cache.latest == (target - 1) // 10
    newest = bench.log.max_timestamp_offset()
    assert (newest[1] if newest else -1) == target - 1
    bench.append(bench.idempotent(target), epoch=9)
    assert bench.offsets() == list(range(target + 1))
    bench.kill()
    assert bench.offsets() == list(range(target + 1))


def test_truncation_takes_a_spanning_batch_whole() -> None:
    bench = Bench()
    bench.append(bench.batch(b"a", b"b"))
    bench.append(bench.batch(b"c", b"d", b"e"))
    bench.log.truncate_to(4)
    assert bench.log.end_offset == 2


def test_truncating_beyond_the_end_does_nothing() -> None:
    bench = Bench()
    bench.fill(3)
    assert not bench.log.truncate_to(3)
    assert bench.log.end_offset == 3


def test_a_log_can_start_over_elsewhere() -> None:
    bench = Bench({"segment.bytes": "500"})
    for number in range(20):
        bench.append(bench.idempotent(number))
    bench.log.truncate_fully_and_start_at(1000)
    bench.log.invariants()
    assert (bench.log.start_offset, bench.log.end_offset) == (1000, 1000)
    assert bench.log.producers.entries == {}
    assert bench.log.leader_epoch_cache.entries() == []
    bench.fill(2)
    assert bench.offsets() == [1000, 1001]
    bench.kill()
    assert bench.offsets() == [1000, 1001]


def test_a_new_configuration_holds_from_the_next_append_on() -> None:
    bench = Bench()
    bench.fill(5)
    bench.reconfigure({"segment.bytes": "1000", "max.message.bytes": "150"})
    bench.fill(20)
    assert len(bench.log.segments.items) > 1
    with pytest.raises(KafkaError):
        bench.append(bench.batch(b"v" * 200))


def test_old_segments_keep_few_files_open() -> None:
    bench = Bench({"segment.bytes": "500", "retention.ms": "-1"})
    bench.fill(100)
    bench.log.flush()
    assert bench.offsets() == list(range(100))
    bench.log.retention_plan(bench.clock.wall_ms(), 100)
    bench.log.offset_for_timestamp(bench.clock.wall_ms() - 50)
    bench.log.max_timestamp_offset()
    opened = [segment for segment in bench.log.segments.items if segment.has_open_files()]
    assert len(bench.log.segments.items) > 10
    assert len(opened) <= 4


def test_index_entries_that_were_cut_off_lead_nobody_astray() -> None:
    bench = Bench({"index.interval.bytes": "0"})
    bench.fill(3)
    bench.log.close()
    bench.open(clean=True)
    bench.fill(7)
    bench.log.begin_checkpoint()
    bench.log.truncate_to(4)
    bench.reconfigure({"index.interval.bytes": "100000"})
    bench.fill(10, b"longer than before" * 5)
    for offset in reversed(range(14)):
        assert bench.records(offset)[0].offset == offset
    bench.log.truncate_to(7)
    assert bench.offsets() == list(range(7))


def test_a_region_cut_off_under_its_reader_is_not_read() -> None:
    bench = Bench()
    bench.fill(10)
    whole, head = bench.log.read(0, 1 << 20, 10, True), bench.log.read(0, 1 << 20, 4, True)
    assert whole is not None
    assert head is not None
    before = head.read()
    bench.log.truncate_to(6)
    bench.fill(4, b"w" * 30)
    with pytest.raises(DiskError, match="truncated"):
        whole.read()
    assert head.read() == before, "what lies below the cut is as it was"


def test_the_epoch_of_a_batch_that_could_not_be_written_goes_with_it() -> None:
    bench = Bench()
    bench.append(bench.batch(b"v"), epoch=3)
    bench.disk.capacity_bytes = bench.disk.total_bytes() - bench.disk.free_bytes()
    with pytest.raises(DiskFullError):
        bench.append(bench.batch(b"w"), epoch=5)
    assert bench.log.leader_epoch_cache.entries() == [(3, 0)]


def test_after_a_power_cut_no_file_speaks_of_what_was_cut_off() -> None:
    bench = Bench()
    for epoch, count in ((1, 5), (5, 5)):
        for _ in range(count):
            bench.append(bench.batch(b"v"), epoch=epoch)
    bench.log.close()  # the file says that 5 began at offset 5
    bench.open(clean=True)
    bench.log.truncate_to(3)
    bench.append(bench.batch(b"w"), epoch=4)
    bench.log.flush()
    bench.power_cut()
    assert bench.log.end_offset == 4
    assert bench.log.leader_epoch_cache.entries() == [(1, 0), (4, 3)]
