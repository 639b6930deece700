"""Append: offsets, what is patched, and everything that is refused, with the right code."""

from __future__ import annotations

import pytest

from tapelog.log.log import COORDINATOR, REPLICATION
from tapelog.wire import record_batch as rb
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways

HOUR_MS = 3_600_000


def resealed(batch: bytes, at: int, data: bytes) -> bytes:
    """The batch with some bytes changed and a CRC that fits."""
    changed = batch[:at] + data + batch[at + len(data) :]
    return rb.sealed(changed[rb.ATTRIBUTES_AT :], rb.base_offset(changed, 0), rb.leader_epoch(changed, 0))


def refused(bench: Bench, batch: bytes, origin: int = 0) -> ErrorCode:
    """The code with which a batch is refused; nothing may have changed."""
    before = (bench.log.end_offset, dict(bench.log.producers.entries))
    with pytest.raises(KafkaError) as caught:
        bench.append(batch, origin=origin)
    assert (bench.log.end_offset, dict(bench.log.producers.entries)) == before
    assert caught.value.message
    return caught.value.code


def test_batches_get_consecutive_offsets() -> None:
    bench = Bench()
    first = bench.append(bench.batch(b"a", b"b"), write=False)
    second = bench.append(bench.batch(b"c"), write=False)
    assert (first.base_offset, first.last_offset, second.base_offset, second.last_offset) == (0, 1, 2, 2)
    assert bench.log.end_offset == 3
    assert bench.log.written_end == 0
    bench.log.write()
    assert bench.log.written_end == 3
    assert [(r.offset, r.value) for r in bench.records()] == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_only_base_offset_and_leader_epoch_are_changed() -> None:
    bench = Bench()
    bench.append(bench.batch(b"first"))
    batch = bench.batch(b"value", b"other", compression=3)
    bench.append(batch, epoch=9)
    region = bench.log.read(1, 1 << 20, 3, True)
    assert region is not None
    stored = region.read()
    assert rb.base_offset(stored, 0) == 1
    assert rb.leader_epoch(stored, 0) == 9
    assert stored[8:12] == batch[8:12]
    assert stored[16:] == batch[16:]
    assert rb.crc_ok(stored, 0, len(stored))


def test_a_large_batch_is_stored_whole() -> None:
    bench = Bench()
    value = bytes(range(256)) * 400
    bench.append(bench.batch(value))
    assert [record.value for record in bench.records()] == [value]


def test_damaged_bytes_are_refused() -> None:
    bench = Bench()
    batch = bench.batch(b"value")
    assert refused(bench, batch[:-1] + b"?") == ErrorCode.CORRUPT_MESSAGE
    assert refused(bench, batch[:-1]) == ErrorCode.INVALID_RECORD
    assert refused(bench, batch[:40]) == ErrorCode.INVALID_RECORD
    assert refused(bench, b"") == ErrorCode.INVALID_RECORD


def test_old_message_formats_are_refused() -> None:
    bench = Bench()
    batch = bench.batch(b"value")
    for magic in (0, 1):
        old = batch[:16] + bytes((magic,)) + batch[17:]
        assert refused(bench, old) == ErrorCode.INVALID_RECORD
        assert refused(bench, old[:30]) == ErrorCode.INVALID_RECORD
    assert refused(bench, batch[:16] + b"\x03" + batch[17:]) == ErrorCode.CORRUPT_MESSAGE


def test_two_batches_in_one_produce_are_refused() -> None:
    bench = Bench()
    assert refused(bench, bench.batch(b"a") + bench.batch(b"b")) == ErrorCode.INVALID_RECORD


def test_sizes_are_bounded_by_topic_and_segment() -> None:
    bench = Bench({"max.message.bytes": "1000", "segment.bytes": "500"})
    assert refused(bench, bench.batch(b"x" * 2000)) == ErrorCode.MESSAGE_TOO_LARGE
    assert refused(bench, bench.batch(b"x" * 600)) == ErrorCode.RECORD_LIST_TOO_LARGE
    bench.append(bench.batch(b"x" * 300))


def test_headers_that_contradict_themselves_are_refused() -> None:
    bench = Bench()
    batch = bench.batch(b"a", b"b")
    assert refused(bench, resealed(batch, rb.LAST_OFFSET_DELTA_AT, b"\x00\x00\x00\x05")) == ErrorCode.INVALID_RECORD
    assert refused(bench, resealed(batch, rb.LAST_OFFSET_DELTA_AT, b"\xff\xff\xff\xff")) == ErrorCode.INVALID_RECORD
    assert refused(bench, resealed(batch, rb.RECORD_COUNT_AT, b"\x00\x00\x00\x00")) == ErrorCode.INVALID_RECORD
    assert refused(bench, resealed(batch, rb.ATTRIBUTES_AT, b"\x00\x07")) == ErrorCode.INVALID_RECORD
    assert refused(bench, resealed(batch, rb.ATTRIBUTES_AT, b"\x00\x40")) == ErrorCode.INVALID_RECORD


def test_a_clients_batch_begins_at_offset_zero() -> None:
    bench = Bench()
    batch = build_batch([Record(0, bench.clock.wall_ms(), None, b"v")], base_offset=5)
    assert refused(bench, batch) == ErrorCode.INVALID_RECORD
    assert bench.append(batch, origin=COORDINATOR).base_offset == 0


def test_clients_may_not_write_control_records() -> None:
    bench = Bench()
    batch = build_batch([Record(0, bench.clock.wall_ms(), b"\0\0\0\1", b"\0\0\0\0\0\1")], producer_id=1, control=True)
    assert refused(bench, batch) == ErrorCode.INVALID_RECORD


def test_a_producer_id_needs_an_epoch_and_a_sequence() -> None:
    bench = Bench()
    assert refused(bench, bench.idempotent(-1)) == ErrorCode.INVALID_RECORD
    assert refused(bench, bench.idempotent(0, epoch=-1)) == ErrorCode.INVALID_RECORD


def test_timestamps_too_far_ahead_are_refused() -> None:
    bench = Bench()
    now = bench.clock.wall_ms()
    assert refused(bench, bench.batch(b"v", at_ms=now + HOUR_MS + 1)) == ErrorCode.INVALID_TIMESTAMP
    bench.append(bench.batch(b"v", at_ms=now + HOUR_MS))
    bench.append(bench.batch(b"v", at_ms=0))
    bench.append(bench.batch(b"v", at_ms=-1))


def test_timestamps_too_far_back_are_refused_where_the_topic_says_so() -> None:
    bench = Bench({"message.timestamp.before.max.ms": "1000"})
    now = bench.clock.wall_ms()
    assert refused(bench, bench.batch(b"v", at_ms=now - 1001)) == ErrorCode.INVALID_TIMESTAMP
    bench.append(bench.batch(b"v", at_ms=now - 1000))


def test_a_producer_may_not_claim_the_brokers_time() -> None:
    bench = Bench()
    batch = build_batch([Record(0, bench.clock.wall_ms(), None, b"v")], timestamp_type=1)
    assert refused(bench, batch) == ErrorCode.INVALID_TIMESTAMP


def test_log_append_time_replaces_the_producers() -> None:
    bench = Bench({"message.timestamp.type": "LogAppendTime"})
    now = bench.clock.wall_ms()
    appended = bench.append(bench.batch(b"a", b"b", at_ms=5, compression=1))
    assert appended.log_append_time_ms == now
    assert [(r.timestamp, r.value) for r in bench.records()] == [(now, b"a"), (now, b"b")]
    region = bench.log.read(0, 1000, 2, True)
    assert region is not None
    assert rb.crc_ok(region.read(), 0, region.size)


def test_create_time_reports_no_append_time() -> None:
    bench = Bench()
    assert bench.append(bench.batch(b"a")).log_append_time_ms == -1


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_a_topics_codec_replaces_the_producers(codec: int) -> None:
    names = ["uncompressed", "gzip", "snappy", "lz4", "zstd"]
    bench = Bench({"compression.type": names[codec]})
    for given in range(5):
        bench.append(bench.batch(b"value" * 20, b"other", compression=given))
    assert [record.value for record in bench.records()] == [b"value" * 20, b"other"] * 5
    region = bench.log.read(0, 1 << 20, 10, True)
    assert region is not None
    data = region.read()
    assert {header.compression for header in rb.batches(data, 0, len(data))} == {codec}


def test_compressed_bytes_are_not_looked_into_without_need() -> None:
    bench = Bench()
    batch = bench.batch(b"value" * 50, compression=3)
    nonsense = resealed(batch, rb.HEADER_SIZE, b"not lz4 at all")
    bench.append(nonsense)
    bench.reconfigure({"compression.type": "zstd"})
    assert refused(bench, nonsense) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_compacted_topics_refuse_records_without_a_key(codec: int) -> None:
    bench = Bench({"cleanup.policy": "compact"})
    assert refused(bench, bench.batch(b"v", key=None, compression=codec)) == ErrorCode.INVALID_RECORD
    bench.append(bench.batch(b"v", b"w", compression=codec))
    mixed = build_batch([Record(0, 1, b"k", b"v"), Record(0, 1, None, b"v")], compression=codec)
    assert refused(bench, mixed) == ErrorCode.INVALID_RECORD


def test_compacted_topics_refuse_malformed_records() -> None:
    bench = Bench({"cleanup.policy": "compact,delete"})
    batch = bench.batch(b"value")
    assert refused(bench, resealed(batch, rb.HEADER_SIZE, b"\x7f")) == ErrorCode.INVALID_RECORD
    assert refused(bench, resealed(batch, rb.HEADER_SIZE, b"\x04")) == ErrorCode.INVALID_RECORD


def test_replicated_batches_keep_offsets_and_epochs() -> None:
    leader, follower = Bench(), Bench()
    for number in range(5):
        leader.append(leader.idempotent(number), epoch=number // 2, write=False)
    leader.log.write()
    region = leader.log.read(0, 1 << 20, 5, True)
    assert region is not None
    data = region.read()
    appended = follower.append(data + data[:70], epoch=2, origin=REPLICATION)  # and part of another
    assert (appended.base_offset, appended.last_offset) == (0, 4)
    copied = follower.log.read(0, 1 << 20, 5, True)
    assert copied is not None
    assert copied.read() == data
    assert follower.log.leader_epoch_cache.entries() == [(0, 0), (1, 2), (2, 4)]
    assert follower.log.producers.entries[7].last_sequence() == 4


def test_replicated_batches_may_leave_gaps_but_not_go_back() -> None:
    bench = Bench()
    one = build_batch([Record(0, 1, b"k", b"v")], base_offset=10, leader_epoch=1)
    two = build_batch([Record(0, 1, b"k", b"w")], base_offset=20, leader_epoch=1)
    bench.append(one + two, epoch=1, origin=REPLICATION)
    assert bench.offsets() == [10, 20]
    assert refused(bench, one, REPLICATION) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert refused(bench, two[:-1] + b"?", REPLICATION) == ErrorCode.CORRUPT_MESSAGE


def test_replicated_batches_are_of_no_epoch_that_the_leader_cannot_have_there() -> None:
    bench = Bench()
    batches = [build_batch([Record(0, 1, b"k", b"v")], base_offset=at, leader_epoch=at // 2) for at in range(6)]
    bench.append(b"".join(batches[:4]), epoch=1, origin=REPLICATION)
    for batch, epoch in ((batches[4], 1), (build_batch([Record(0, 1, b"k", b"v")], base_offset=4, leader_epoch=0), 2)):
        with pytest.raises(KafkaError) as caught:
            bench.append(batch, epoch=epoch, origin=REPLICATION)
        assert caught.value.code == ErrorCode.CORRUPT_MESSAGE
    assert bench.log.end_offset == 4


def test_a_new_epoch_is_noted_where_it_begins() -> None:
    bench = Bench()
    bench.append(bench.batch(b"a"), epoch=1)
    bench.append(bench.batch(b"b"), epoch=1)
    bench.append(bench.batch(b"c"), epoch=4)
    assert bench.log.leader_epoch_cache.entries() == [(1, 0), (4, 2)]
    assert bench.log.epoch_end_offset(1) == (1, 2)
    assert bench.log.epoch_end_offset(2) == (1, 2)
    assert bench.log.epoch_end_offset(4) == (4, 3)
    assert bench.log.epoch_end_offset(5) == (-1, -1)
    assert bench.log.epoch_end_offset(0) == (0, 0)
