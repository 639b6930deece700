"""Record batches: as other clients read and write them, and damaged in every way."""

from __future__ import annotations

import random

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from tapelog.wire import record_batch as rb
from tapelog.wire.compression import CompressionError, compress
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import BatchHeader, Record, build_batch, crc_ok, iterate

CODECS = [0, 1, 2, 3, 4]
RECORDS = [
    Record(0, 1_700_000_000_000, b"key", b"value", [("h", b"1"), ("h", None), ("é", b"")]),
    Record(1, 1_700_000_000_005, None, b"x" * 300),
    Record(2, 1_699_999_999_000, b"", None, []),
]


def broken(batch: bytes, at: int, value: bytes) -> bytes:
    """The batch with some bytes replaced, and a CRC that fits."""
    changed = batch[:at] + value + batch[at + len(value) :]
    return rb.sealed(changed[rb.ATTRIBUTES_AT :], rb.base_offset(changed, 0), rb.leader_epoch(changed, 0))


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_built_is_iterated(codec: int) -> None:
    batch = build_batch(RECORDS, compression=codec)
    assert list(iterate(batch, 0, len(batch))) == RECORDS
    assert crc_ok(batch, 0, len(batch))


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_reads_what_we_build(codec: int) -> None:
    batch = build_batch(RECORDS, base_offset=40, compression=codec, producer_id=7, producer_epoch=2, base_sequence=9)
    read = MemoryRecords(batch).next_batch()
    assert read.validate_crc()
    assert (read.base_offset, read.producer_id, read.producer_epoch, read.base_sequence) == (40, 7, 2, 9)
    assert [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in read] == [
        (40 + r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in RECORDS
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_we_read_what_aiokafka_builds(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(2, codec, True, 5, 1, 0, 1 << 20)
    for r in RECORDS:
        builder.append(r.offset, r.timestamp, r.key, r.value, list(r.headers))
    batch = bytes(builder.build())
    assert crc_ok(batch, 0, len(batch))
    header = BatchHeader(batch, 0, len(batch))
    assert (header.compression, header.is_transactional, header.producer_id) == (codec, True, 5)
    assert list(iterate(batch, 0, len(batch))) == RECORDS


def test_header_fields_are_found_at_any_position() -> None:
    batch = build_batch(
        RECORDS,
        base_offset=1000,
        producer_id=77,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        transactional=True,
        leader_epoch=12,
    )
    buf = b"???" + batch
    assert rb.base_offset(buf, 3) == 1000
    assert rb.batch_size(buf, 3) == len(batch)
    assert rb.batch_length(buf, 3) == len(batch) - 12
    assert rb.leader_epoch(buf, 3) == 12
    assert rb.magic(buf, 3) == 2
    assert rb.attributes(buf, 3) == rb.TRANSACTIONAL
    assert rb.last_offset_delta(buf, 3) == 2
    assert rb.last_offset(buf, 3) == 1002
    assert rb.base_timestamp(buf, 3) == RECORDS[0].timestamp
    assert rb.max_timestamp(buf, 3) == RECORDS[1].timestamp
    assert rb.producer_id(buf, 3) == 77
    assert rb.producer_epoch(buf, 3) == 3
    assert rb.base_sequence(buf, 3) == 2**31 - 2
    assert rb.record_count(buf, 3) == 3
    header = BatchHeader(buf, 3, len(buf))
    assert (header.base_offset, header.last_offset, header.size, header.end) == (1000, 1002, len(batch), len(buf))
    assert header.last_sequence == 0
    assert header.is_transactional
    assert not header.is_control
    assert header.crc == rb.stored_crc(buf, 3) == rb.computed_crc(buf, 3, len(buf))
    plain = build_batch(RECORDS)
    assert BatchHeader(plain, 0, len(plain)).last_sequence == -1


def test_base_offset_and_leader_epoch_are_outside_the_crc() -> None:
    batch = build_batch(RECORDS)
    moved = (99).to_bytes(8, "big") + batch[8:12] + (5).to_bytes(4, "big") + batch[16:]
    assert crc_ok(moved, 0, len(moved))
    assert moved == build_batch(RECORDS, base_offset=99, leader_epoch=5)


@pytest.mark.parametrize("size", [10, 100_000])
def test_any_changed_byte_fails_the_crc(size: int) -> None:
    batch = build_batch([Record(0, 0, b"k", bytes(size))])
    chance = random.Random(1)
    for at in [*range(rb.CRC_AT, 70), *(chance.randrange(rb.CRC_AT, len(batch)) for _ in range(50))]:
        changed = bytearray(batch)
        changed[at] ^= 1 << chance.randrange(8)
        assert not crc_ok(bytes(changed), 0, len(changed))


def test_log_append_time_gives_every_record_the_greatest_timestamp() -> None:
    batch = build_batch(RECORDS, timestamp_type=1)
    assert BatchHeader(batch, 0, len(batch)).is_log_append_time
    assert {r.timestamp for r in iterate(batch, 0, len(batch))} == {1_700_000_000_005}


def test_offsets_can_have_gaps() -> None:
    kept = [Record(10, 0, b"a", None), Record(17, 0, b"b", None)]
    batch = build_batch(kept, base_offset=10, keep_offsets=True)
    assert list(iterate(batch, 0, len(batch))) == kept
    assert rb.last_offset(batch, 0) == 17


def test_several_batches_are_iterated_in_one_go() -> None:
    buf = b"".join(build_batch(RECORDS, base_offset=3 * i, compression=i % 5) for i in range(6))
    assert [r.offset for r in iterate(buf, 0, len(buf))] == list(range(18))
    assert [h.base_offset for h in rb.batches(buf, 0, len(buf))] == [0, 3, 6, 9, 12, 15]


def test_an_unfinished_last_batch_is_an_error_or_the_end_as_asked() -> None:
    batch = build_batch(RECORDS)
    for cut in range(1, len(batch)):
        buf = batch + batch[:cut]
        assert len(list(rb.batches(buf, 0, len(buf), partial_tail=True))) == 1
        with pytest.raises(WireError):
            list(rb.batches(buf, 0, len(buf)))


def test_old_formats_are_refused() -> None:
    batch = build_batch(RECORDS)
    for old in (0, 1, 3):
        with pytest.raises(WireError, match=f"record format {old}"):
            BatchHeader(batch[:16] + bytes([old]) + batch[17:], 0, len(batch))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (rb.RECORD_COUNT_AT, b"\xff\xff\xff\xff"),
        (rb.RECORD_COUNT_AT, b"\x7f\xff\xff\xff"),
        (rb.RECORD_COUNT_AT, b"\x00\x00\x00\x02"),
        (rb.RECORD_COUNT_AT, b"\x00\x00\x00\x04"),
        (rb.HEADER_SIZE, b"\x01"),
        (rb.HEADER_SIZE, b"\xff\xff\xff\xff\x0f"),
        (rb.HEADER_SIZE + 4, b"\x7e"),
    ],
)
def test_batches_that_are_not_what_they_say_are_refused(at: int, value: bytes) -> None:
    batch = broken(build_batch([Record(0, 0, b"k", b"v")] * 3), at, value)
    assert crc_ok(batch, 0, len(batch))
    with pytest.raises(WireError):
        list(iterate(batch, 0, len(batch)))


def test_a_batch_length_that_does_not_fit_is_refused() -> None:
    batch = build_batch(RECORDS)
    for length in (-1, 0, 48, len(batch) - 11, 2**31 - 1):
        with pytest.raises(WireError):
            BatchHeader(batch[:8] + length.to_bytes(4, "big", signed=True) + batch[12:], 0, len(batch))


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_in_a_batch_is_refused(codec: int) -> None:
    batch = build_batch([Record(0, 0, None, bytes(8_000_000))], compression=codec)
    with pytest.raises(CompressionError):
        list(iterate(batch, 0, len(batch), 1_000_000))
    assert len(next(iterate(batch, 0, len(batch), 9_000_000)).value or b"") == 8_000_000


def test_record_headers_without_a_name_or_with_bad_text_are_refused() -> None:
    good = build_batch([Record(0, 0, b"", b"", [("n", b"")])])
    body = good[rb.HEADER_SIZE :]
    assert body[-3:] == b"\x02n\x00"
    for wrong in (b"\x01n\x00", b"\x02\xff\x00"):
        tail = good[rb.ATTRIBUTES_AT : rb.HEADER_SIZE] + body[:-3] + wrong
        batch = rb.sealed(tail, 0, -1)
        with pytest.raises(WireError):
            list(iterate(batch, 0, len(batch)))


@pytest.mark.parametrize("codec", CODECS)
def test_damaged_batches_give_nothing_worse_than_a_wire_error(codec: int) -> None:
    chance = random.Random(codec)
    batch = build_batch(RECORDS, compression=codec)
    for _ in range(1500):
        changed = bytearray(batch)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        cut = chance.randrange(len(changed) + 1) if chance.random() < 0.2 else len(changed)
        try:
            list(iterate(bytes(changed), 0, cut, 100_000))
        except WireError:
            pass


def test_an_empty_batch_is_not_built() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        build_batch([])


def test_records_print_and_compare() -> None:
    assert repr(Record(1, 2, b"k", None)) == "Record(1, 2, b'k', None, [])"
    assert Record(1, 2, b"k", None) != "Record"
    assert len({Record(1, 2, b"k", None), Record(1, 2, b"k", None, [])}) == 1


def test_compressed_records_may_not_be_followed_by_anything() -> None:
    batch = build_batch(RECORDS)
    tail = bytearray(batch[rb.ATTRIBUTES_AT : rb.HEADER_SIZE])
    tail[1] |= 4
    packed = rb.sealed(bytes(tail) + compress(4, batch[rb.HEADER_SIZE :] + b"?"), 0, -1)
    with pytest.raises(WireError, match="left over"):
        list(iterate(packed, 0, len(packed)))
