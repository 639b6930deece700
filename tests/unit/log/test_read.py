"""Reads: whole batches, bounded by bytes and by an upper offset, and look-ups by time."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, base_offset, build_batch
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways

SMALL_SEGMENTS = {"segment.bytes": "2000", "index.interval.bytes": "300"}


def first_of(bench: Bench, offset: int, max_bytes: int = 1 << 20, upper: int = 1 << 40) -> tuple[int, int]:
    region = bench.log.read(offset, max_bytes, upper, True)
    assert region is not None
    data = region.read()
    return base_offset(data, 0), len(data)


def test_every_offset_can_be_read() -> None:
    bench = Bench(SMALL_SEGMENTS)
    bench.fill(100)
    assert len(bench.log.segments.items) > 3
    for offset in range(100):
        assert first_of(bench, offset)[0] == offset
    assert bench.offsets() == list(range(100))
    for max_bytes in (1, 150, 299, 1000):
        assert [record.offset for record in bench.records(3, max_bytes)] == list(range(3, 100))


def test_a_read_begins_with_the_batch_that_holds_the_offset() -> None:
    bench = Bench()
    bench.append(bench.batch(b"a", b"b", b"c"))
    bench.append(bench.batch(b"d", b"e"))
    assert first_of(bench, 1)[0] == 0
    assert first_of(bench, 4)[0] == 3


def test_the_end_has_nothing_to_read_and_beyond_is_an_error() -> None:
    bench = Bench()
    bench.fill(3)
    assert bench.log.read(3, 100, 3, True) is None
    for offset in (-1, 4):
        with pytest.raises(KafkaError) as caught:
            bench.log.read(offset, 100, 3, True)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_empty_log_can_be_read() -> None:
    assert Bench().log.read(0, 100, 0, True) is None


def test_nothing_from_the_upper_bound_on_is_read() -> None:
    bench = Bench(SMALL_SEGMENTS)
    bench.fill(50)
    for upper in range(51):
        assert sum(1 for _ in bench_up_to(bench, upper)) == upper


def bench_up_to(bench: Bench, upper: int) -> list[int]:
    offset, found = 0, []
    while (region := bench.log.read(offset, 500, upper, True)) is not None:
        data = region.read()
        at = 0
        while at < len(data):
            found.append(base_offset(data, at))
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        offset = found[-1] + 1
    return found


def test_what_is_only_queued_cannot_be_read() -> None:
    bench = Bench()
    bench.append(bench.batch(b"written"))
    bench.append(bench.batch(b"queued"), write=False)
    assert bench.log.read(1, 1000, 2, True) is None
    assert len(bench.records()) == 1


def test_a_batch_larger_than_the_bound_comes_only_where_one_is_asked_for() -> None:
    bench = Bench()
    bench.append(bench.batch(b"x" * 500))
    bench.append(bench.batch(b"y"))
    assert bench.log.read(0, 100, 2, False) is None
    region = bench.log.read(0, 100, 2, True)
    assert region is not None
    assert 500 < region.size < 700


def test_reads_are_bounded_by_bytes_at_a_batch_boundary() -> None:
    bench = Bench({"index.interval.bytes": "500"})
    bench.fill(200)
    size = first_of(bench, 0, 1)[1]
    for max_bytes in (size, size * 3 + 1, size * 50 - 1, size * 199):
        got = first_of(bench, 0, max_bytes)[1]
        assert got <= max_bytes
        assert got % size == 0
        assert got > max_bytes - 600


def test_the_start_offset_bounds_reads() -> None:
    bench = Bench()
    bench.fill(10)
    bench.log.increment_start_offset(4)
    with pytest.raises(KafkaError):
        bench.log.read(3, 100, 10, True)
    assert bench.offsets() == list(range(4, 10))


def test_a_region_survives_the_deletion_of_its_segment() -> None:
    bench = Bench(SMALL_SEGMENTS)
    bench.fill(60)
    region = bench.log.read(0, 400, 60, True)
    assert region is not None
    before = region.read()
    bench.log.increment_start_offset(50)
    bench.log.delete_segments(bench.log.retention_plan(bench.clock.wall_ms(), 60))
    assert region.read() == before


def test_time_look_ups() -> None:
    bench = Bench(SMALL_SEGMENTS)
    bench.fill(80)
    now = bench.clock.wall_ms()
    begin = now - 79
    for offset in range(80):
        assert bench.log.offset_for_timestamp(begin + offset) == (begin + offset, offset, 0)
    assert bench.log.offset_for_timestamp(0) == (begin, 0, 0)
    assert bench.log.offset_for_timestamp(now + 1) is None
    assert bench.log.max_timestamp_offset() == (now, 79, 0)


def test_time_look_ups_find_the_record_inside_a_batch() -> None:
    bench = Bench()
    records = [Record(0, stamp, None, b"v") for stamp in (10, 30, 20, 30)]
    bench.append(build_batch(records, compression=4), epoch=6)
    assert bench.log.offset_for_timestamp(15) == (30, 1, 6)
    assert bench.log.offset_for_timestamp(30) == (30, 1, 6)
    assert bench.log.offset_for_timestamp(31) is None
    assert bench.log.max_timestamp_offset() == (30, 1, 6)


def test_time_look_ups_respect_the_start_offset() -> None:
    bench = Bench()
    for stamp in (50, 10, 20):
        bench.append(bench.batch(b"v", at_ms=stamp))
    bench.log.increment_start_offset(1)
    assert bench.log.offset_for_timestamp(5) == (10, 1, 0)
    assert bench.log.max_timestamp_offset() == (20, 2, 0)
    bench.log.increment_start_offset(3)
    assert bench.log.max_timestamp_offset() is None


def test_an_empty_log_has_no_timestamps() -> None:
    bench = Bench()
    assert bench.log.offset_for_timestamp(0) is None
    assert bench.log.max_timestamp_offset() is None
