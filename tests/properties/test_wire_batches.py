"""Batches of any records, in any codec, are read back by us and by kafka-python."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from tapelog.wire import record_batch as rb
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import Record, build_batch, iterate

quick = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
data = st.none() | st.binary(max_size=40)
headers = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), data), max_size=3)
records = st.lists(st.builds(Record, st.just(0), st.integers(0, 2**42), data, data, headers), min_size=1, max_size=8)
codecs = st.integers(0, 4)


@quick
@given(records, codecs, st.integers(0, 2**50), st.booleans())
def test_any_records_survive_a_round_trip(
    given_records: list[Record], codec: int, base_offset: int, transactional: bool
) -> None:
    for i, record in enumerate(given_records):
        record.offset = base_offset + i
    batch = build_batch(given_records, base_offset=base_offset, compression=codec, transactional=transactional)
    assert rb.crc_ok(batch, 0, len(batch))
    assert rb.batch_size(batch, 0) == len(batch)
    assert rb.max_timestamp(batch, 0) == max(r.timestamp for r in given_records)
    assert list(iterate(batch, 0, len(batch))) == given_records
    other = MemoryRecords(batch).next_batch()
    assert [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in other] == [
        (r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in given_records
    ]


@quick
@given(st.binary(max_size=200))
def test_random_bytes_are_a_batch_or_a_wire_error(buf: bytes) -> None:
    try:
        list(iterate(buf, 0, len(buf), 10_000))
    except WireError:
        pass
