"""One range decoded to Arrow: which rows come out, and what they hold."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pytest

from tapelog.spark.decode import columns as decoded_columns
from tapelog.spark.decode.columns import COLUMNS, schema_of
from tapelog.spark.decode.decoder import DecodeError, Decoder
from tapelog.wire import record_batch as rb
from tapelog.wire.compression import NAMES
from tapelog.wire.record_batch import Record, build_batch

RECORDS = [
    Record(0, 1_700_000_000_000, b"key", b"value", [("h", b"1"), ("h", None), ("é", b"")]),
    Record(1, 1_700_000_000_005, None, b"x" * 300),
    Record(2, 1_699_999_999_000, b"", None, []),
    Record(
        3, 1_700_000_000_001, b"a key of more than twelve bytes", b"twelve bytes", [("long enough name", b"y" * 40)]
    ),
]
MARKER = {"abort": b"\0\0\0\0", "commit": b"\0\0\0\1"}


def rows(
    data: bytes,
    start: int = 0,
    until: int = 1 << 40,
    columns: Sequence[str] = COLUMNS,
    aborted: list[tuple[int, int]] | None = None,
    decompressed_max: int = 1 << 26,
) -> list[dict[str, Any]]:
    """All rows of some batches."""
    decoder = Decoder("orders", 7, start, until, columns=tuple(columns), decompressed_max=decompressed_max)
    found: list[dict[str, Any]] = []
    for batch in decoder.decode(data, 0, len(data), aborted):
        batch.validate(full=True)
        assert batch.schema == schema_of(tuple(columns)) and batch.num_rows
        found += batch.to_pylist()
    return found


def offsets(
    data: bytes, start: int = 0, until: int = 1 << 40, aborted: list[tuple[int, int]] | None = None
) -> list[int]:
    """Only the offsets."""
    return [row["offset"] for row in rows(data, start, until, ("offset",), aborted)]


def plain(count: int, base: int, **options: Any) -> bytes:
    """A batch of small records."""
    return build_batch([Record(0, 1000 + n, None, b"v%d" % n) for n in range(count)], base_offset=base, **options)


def marker(kind: str, producer: int, offset: int) -> bytes:
    """The control batch that ends a transaction."""
    record = Record(0, 1000, MARKER[kind], b"\0\0\0\0\0\0")
    options = {"producer_id": producer, "producer_epoch": 0, "transactional": True, "control": True}
    return build_batch([record], base_offset=offset, **options)


@pytest.mark.parametrize("codec", sorted(NAMES.values()))
def test_every_field_of_a_record_becomes_a_column(codec: int) -> None:
    data = build_batch(RECORDS, base_offset=40, compression=codec) + build_batch(
        RECORDS, base_offset=50, compression=codec
    )
    found = rows(data)
    assert [row["offset"] for row in found] == [40, 41, 42, 43, 50, 51, 52, 53]
    for row, record in zip(found, [*RECORDS, *RECORDS], strict=True):
        assert (row["topic"], row["partition"], row["timestampType"]) == ("orders", 7, 0)
        assert (row["key"], row["value"]) == (record.key, record.value)
        assert row["timestamp"] == datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
            milliseconds=record.timestamp
        )
        assert row["headers"] == ([{"key": k, "value": v} for k, v in record.headers] or None)


def test_only_the_columns_asked_for_are_made_in_the_order_asked_for() -> None:
    data = build_batch(RECORDS)
    assert rows(data, columns=("value", "offset"))[1] == {"value": b"x" * 300, "offset": 1}
    for name in COLUMNS:
        assert [row[name] for row in rows(data, columns=(name,))] == [row[name] for row in rows(data)]


def test_offsets_outside_the_range_are_left_out_within_batches_too() -> None:
    data = plain(5, 10) + plain(5, 15, compression=3) + plain(5, 20)
    assert offsets(data, 12, 22) == list(range(12, 22))
    assert offsets(data, 17, 18) == [17]
    assert offsets(data, 25, 30) == []


def test_gaps_of_compaction_stay_gaps() -> None:
    kept = [Record(offset, 1, b"k", b"v") for offset in (101, 104, 107)]
    data = build_batch(kept, base_offset=100, keep_offsets=True)
    assert offsets(data) == [101, 104, 107]
    assert offsets(data, 102, 107) == [104]


def test_a_batch_that_compaction_has_emptied_holds_no_rows() -> None:
    empty = bytearray(plain(3, 10)[: rb.HEADER_SIZE])
    empty[rb.RECORD_COUNT_AT : rb.RECORD_COUNT_AT + 4] = bytes(4)
    data = rb.sealed(bytes(empty[rb.ATTRIBUTES_AT :]), 10, 0)
    assert offsets(data + plain(1, 13)) == [13]


def test_control_batches_are_never_rows() -> None:
    data = plain(2, 0) + marker("commit", 5, 2) + plain(1, 3)
    assert offsets(data) == [0, 1, 3]
    assert offsets(data, aborted=[]) == [0, 1, 3]


def transactional(count: int, base: int, producer: int) -> bytes:
    return plain(count, base, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True)


def test_read_committed_leaves_out_what_was_aborted_and_nothing_else() -> None:
    data = (
        transactional(2, 0, 5)  # aborted at 6
        + transactional(2, 2, 6)  # committed at 7
        + plain(1, 4)
        + transactional(1, 5, 5)  # aborted at 6
        + marker("abort", 5, 6)
        + marker("commit", 6, 7)
        + transactional(1, 8, 5)  # the next transaction of the same producer, committed
        + marker("commit", 5, 9)
        + transactional(1, 10, 5)  # and one more, aborted
        + marker("abort", 5, 11)
    )
    assert offsets(data, aborted=[(5, 0), (5, 10)]) == [2, 3, 4, 8]
    assert offsets(data, aborted=[(5, 10), (5, 0)]) == [2, 3, 4, 8]
    assert offsets(data) == [0, 1, 2, 3, 4, 5, 8, 10]


def test_records_that_are_not_transactional_are_not_aborted_with_their_producer() -> None:
    idempotent = plain(1, 1, producer_id=5, producer_epoch=0, base_sequence=0)
    assert offsets(transactional(1, 0, 5) + idempotent + marker("abort", 5, 2), aborted=[(5, 0)]) == [1]


def test_with_log_append_time_every_row_has_the_brokers_time() -> None:
    data = plain(3, 0, timestamp_type=1) + plain(2, 3)
    found = rows(data, columns=("timestamp", "timestampType"))
    assert [row["timestampType"] for row in found] == [1, 1, 1, 0, 0]
    assert {row["timestamp"].microsecond for row in found[:3]} == {2000}


def test_no_timestamp_is_one_millisecond_before_1970_as_in_sparks_kafka_source() -> None:
    found = rows(build_batch([Record(0, -1, None, b"v")]), columns=("timestamp",))
    assert found[0]["timestamp"].timestamp() == -0.001


def test_names_of_headers_that_are_not_utf8_are_readable_all_the_same() -> None:
    whole = build_batch([Record(0, 1, None, b"v", [("ab", b"1"), ("é", b"2")])])
    broken = whole.replace("é".encode(), b"\xff\xfe")
    data = rb.sealed(broken[rb.ATTRIBUTES_AT :], 0, 0)
    assert [h["key"] for h in rows(data, columns=("headers",))[0]["headers"]] == ["ab", "\ufffd\ufffd"]


def test_large_chunks_are_cut_into_arrow_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_columns, "BATCH_BYTES_MAX", 2000)
    records = [
        Record(
            0, n, None if n % 3 else b"k%d" % n, None if n % 5 == 0 else b"v" * (n % 40), [("n", b"%d" % n)] * (n % 3)
        )
        for n in range(500)
    ]
    data = build_batch(records, compression=4)
    batches = list(Decoder("t", 0, 0, 500, columns=COLUMNS).decode(data, 0, len(data)))
    assert len(batches) > 5 and max(batch.nbytes for batch in batches) < 20_000
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["key"], row["value"]) for row in found] == [(r.key, r.value) for r in records]
    assert [row["offset"] for row in found] == list(range(500))
    assert [row["timestamp"].timestamp() for row in found] == [r.timestamp / 1000 for r in records]
    assert [len(row["headers"] or ()) for row in found] == [len(r.headers) for r in records]


def test_many_small_answers_of_mixed_codecs_come_out_in_order() -> None:
    data = b"".join(plain(3, 3 * n, compression=n % 5, timestamp_type=n // 7 % 2) for n in range(60))
    assert offsets(data) == list(range(180))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_named_with_what_to_do(magic: int) -> None:
    old = bytes(7) + b"\x2a" + b"\0\0\0\x16" + bytes(4) + bytes([magic]) + bytes(17)
    with pytest.raises(DecodeError) as error:
        rows(old)
    assert 'topic "orders", partition 7, batch at offset 42' in str(error.value)
    assert f"format is {magic}" in str(error.value) and "copy the topic" in str(error.value)
    assert len(str(error.value).splitlines()) == 3


def test_a_batch_whose_bytes_have_changed_is_refused() -> None:
    data = bytearray(plain(3, 0) + plain(3, 3))
    data[-2] ^= 1
    with pytest.raises(DecodeError, match="CRC") as error:
        rows(bytes(data))
    assert "offset 3" in str(error.value) and "tape scrub" in str(error.value)


def test_a_batch_that_is_too_large_decompressed_names_the_option() -> None:
    data = build_batch([Record(0, 1, None, bytes(100_000))], compression=4)
    with pytest.raises(DecodeError, match="maxDecompressedBytes"):
        rows(data, decompressed_max=50_000)


def test_a_timestamp_that_spark_cannot_hold_is_refused_only_where_it_is_asked_for() -> None:
    for record in (Record(0, 1 << 60, None, b"v"), Record(0, -(1 << 60), None, b"v")):
        data = build_batch([record])
        with pytest.raises(DecodeError, match="timestamp"):
            rows(data)
        assert offsets(data) == [0]
