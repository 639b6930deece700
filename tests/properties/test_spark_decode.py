"""The decoder for Spark against kafka-python's, and against every kind of damage."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from tapelog.spark.decode.columns import COLUMNS
from tapelog.spark.decode.decoder import DecodeError, Decoder
from tapelog.wire import record_batch as rb
from tapelog.wire.compression import LZ4, NONE, ZSTD, compress
from tapelog.wire.record_batch import Record, build_batch

MEMORY_PER_BYTE = 40
MEMORY_FIXED = 3_000_000

some_bytes = st.one_of(st.none(), st.binary(max_size=30), st.binary(min_size=100, max_size=300))
headers = st.lists(st.tuples(st.text(max_size=20), some_bytes), max_size=4)
moments = st.one_of(st.integers(0, 2_000_000_000_000), st.just(-1), st.integers(1_700_000_000_000, 1_700_000_001_000))
records = st.builds(Record, st.just(0), moments, some_bytes, some_bytes, headers)
batches = st.tuples(st.lists(records, min_size=1, max_size=12), st.integers(0, 4), st.booleans(), st.integers(1, 3))
few = settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def decoded(data: bytes, start: int, until: int, columns: tuple[str, ...] = COLUMNS) -> list[dict[str, Any]]:
    """What our decoder makes of it."""
    found: list[dict[str, Any]] = []
    for batch in Decoder("t", 3, start, until, columns=columns).decode(data, 0, len(data)):
        batch.validate(full=True)
        if "timestamp" in columns:  # which may be a year that Python does not know
            at = columns.index("timestamp")
            batch = batch.set_column(at, "timestamp", batch.column(at).cast(pa.int64()))
        found += batch.to_pylist()
    return found


def as_kafka_python_reads(data: bytes, start: int, until: int) -> list[tuple[Any, ...]]:
    """What another client makes of it."""
    memory, found = MemoryRecords(data), []
    while memory.has_next():
        for record in memory.next_batch():
            if start <= record.offset < until:
                pairs = [{"key": name, "value": value} for name, value in record.headers]
                found.append((record.offset, record.timestamp, record.key, record.value, pairs or None))
    return found


@few
@given(st.lists(batches, min_size=1, max_size=6), st.integers(0, 30), st.integers(0, 80))
def test_rows_are_what_another_client_reads(
    parts: list[tuple[list[Record], int, bool, int]], low: int, more: int
) -> None:
    data, base = b"", 0
    for members, codec, append_time, gap in parts:
        for number, record in enumerate(members):
            record.offset = base + number * gap
        data += build_batch(members, base_offset=base, compression=codec, timestamp_type=append_time, keep_offsets=True)
        base = members[-1].offset + 1
    ours = [
        (row["offset"], row["timestamp"] // 1000, row["key"], row["value"], row["headers"])
        for row in decoded(data, low, low + more)
    ]
    assert ours == as_kafka_python_reads(data, low, low + more)


def survives(data: bytes) -> bool:
    """Does it decode? Anything but rows or a DecodeError of three lines fails the test."""
    try:
        decoded(data, 0, 1 << 40)
    except DecodeError as error:
        assert len(str(error).splitlines()) == 3
        return False
    return True


def sound(seed: int, codec: int = NONE) -> bytes:
    """A batch of some records."""
    chance = random.Random(seed)
    members = [
        Record(0, 1000 + n, chance.choice([None, b"key"]), chance.randbytes(n * 7), [("h", b"1")] * (n % 3))
        for n in range(6)
    ]
    return build_batch(members, compression=codec)


def resealed(data: bytes, body: bytes, codec: int = NONE) -> bytes:
    """The batch with other records under its header, and a CRC that fits."""
    return rb.sealed(data[rb.ATTRIBUTES_AT : rb.HEADER_SIZE] + compress(codec, body), 0, 0)


@pytest.mark.parametrize("codec", [NONE, LZ4, ZSTD])
def test_a_batch_cut_anywhere_is_refused(codec: int) -> None:
    data = sound(1, codec)
    for end in range(1, len(data)):
        assert not survives(data[:end])
    body = sound(1)[rb.HEADER_SIZE :]
    for end in range(len(body)):
        assert not survives(resealed(data, body[:end], codec))


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_under_a_good_checksum_give_rows_or_an_error_that_explains(seed: int) -> None:
    chance = random.Random(seed)
    data = sound(seed)
    huge = (
        b"\xff\xff\xff\xff\x0f",
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80" * 12,
        b"\xff\xff\x03",
        b"\x01",
    )
    for _ in range(250):
        changed = bytearray(data)
        at = chance.randrange(rb.LAST_OFFSET_DELTA_AT if chance.random() < 0.2 else rb.HEADER_SIZE, len(data))
        if chance.random() < 0.5:
            changed[at] = chance.randrange(256)
        else:
            value = chance.choice(huge)
            changed[at : at + len(value)] = value
        survives(rb.sealed(bytes(changed[rb.ATTRIBUTES_AT :]), 0, 0))
        survives(bytes(changed))
        survives(chance.randbytes(chance.randrange(200)))


def test_memory_stays_in_proportion_to_what_came() -> None:
    data = sound(2)
    for count in (1 << 30, (1 << 31) - 1):
        for body in (bytes(3000), b"\x0c" + bytes(2999), b"\xff" * 3000, b"\x01" * 3000):
            header = bytearray(resealed(data, body))
            header[rb.RECORD_COUNT_AT : rb.RECORD_COUNT_AT + 4] = count.to_bytes(4, "big")
            header[rb.LAST_OFFSET_DELTA_AT : rb.LAST_OFFSET_DELTA_AT + 4] = count.to_bytes(4, "big")
            tracemalloc.start()
            survives(rb.sealed(bytes(header[rb.ATTRIBUTES_AT :]), 0, 0))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MEMORY_FIXED + MEMORY_PER_BYTE * len(header)
