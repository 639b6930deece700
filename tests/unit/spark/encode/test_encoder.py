"""Arrow batches as record batches: what is in them, and to which partitions they go."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.client.metadata import TopicPartition
from tapelog.client.partitioner import murmur2 as plain_murmur2
from tapelog.client.partitioner import partition_for_key
from tapelog.spark.encode.encoder import Encoder, RowError
from tapelog.spark.encode.records import murmur2
from tapelog.spark.plan.write_columns import HEADERS, Layout, layout_of
from tapelog.spark.plan.write_values import Tally
from tapelog.wire.record_batch import Record, batch_of, iterate

HEADER = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "headers": HEADER,
    "timestamp": pa.timestamp("us", tz="UTC"),
}
SPARK = {"key": "binary", "value": "binary", "topic": "string", "partition": "int", "headers": HEADERS}
NOW = 1_700_000_000_000


class Written:
    """Records by partition, read back from what the encoder passed on."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, list[Record]] = {}
        self.batches: list[TopicPartition] = []

    def take(self, where: TopicPartition, body: bytes, count: int, first: int, most: int) -> None:
        data = batch_of(body, count, count - 1, first, most)
        found = list(iterate(data, 0, len(data)))
        assert len(found) == count and max(one.timestamp for one in found) == most
        self.records.setdefault(where, []).extend(found)
        self.batches.append(where)


def encoded(
    rows: list[dict[str, Any]], *names: str, topic: str | None = "t", partitions: int = 4, **more: Any
) -> Written:
    """Rows of these columns, written to topics of four partitions; each Arrow batch is a slice of a larger one."""
    names = names or ("key", "value")
    out = Written()
    kinds = [(name, SPARK.get(name, "timestamp")) for name in names]
    layout = layout_of(kinds, topic=topic, include_timestamp="timestamp" in names)
    encoder = Encoder(
        layout, topic, lambda name: partitions, lambda: 0.3, out.take, **({"batch_bytes": 1 << 20} | more)
    )
    filler = [dict.fromkeys(names)] * 3
    table = pa.table({name: pa.array([row.get(name) for row in [*filler, *rows]], TYPES[name]) for name in names})
    batch = table.combine_chunks().to_batches()[0].slice(3)
    encoder.add(batch.slice(0, len(rows) // 2), NOW)
    encoder.add(batch.slice(len(rows) // 2), NOW + 5)
    encoder.finish()
    return out


def test_keys_go_where_java_puts_them_and_rows_keep_their_order() -> None:
    rows = [{"key": b"k%d" % (number % 7), "value": b"v%d" % number} for number in range(100)]
    out = encoded(rows)
    for where, records in out.records.items():
        wanted = [row for row in rows if partition_for_key(row["key"], 4) == where.partition]
        assert [(one.key, one.value) for one in records] == [(row["key"], row["value"]) for row in wanted]
    assert sum(map(len, out.records.values())) == 100


def test_a_named_partition_wins_and_null_falls_back() -> None:
    rows: list[dict[str, Any]] = [{"key": b"a", "value": b"1", "partition": 3}, {"key": b"a", "value": b"2"}]
    out = encoded(rows, "key", "value", "partition")
    assert [one.value for one in out.records[TopicPartition("t", 3)]] == [b"1"]
    assert TopicPartition("t", partition_for_key(b"a", 4)) in out.records


def test_rows_without_a_key_stay_on_one_partition_until_its_batch_is_full() -> None:
    rows = [{"value": b"x" * 100} for _ in range(50)]
    out = encoded(rows, "value", batch_bytes=1000)
    runs = [where.partition for where in out.batches]
    assert len(set(runs)) > 1
    assert all(len(records) > 1 for records in out.records.values())


def test_topics_of_rows_and_the_option_that_overrides_them() -> None:
    rows = [{"value": b"%d" % number, "topic": "ab"[number % 2]} for number in range(10)]
    out = encoded(rows, "value", "topic", topic=None)
    assert {where.topic for where in out.records} == {"a", "b"}
    assert sum(len(r) for where, r in out.records.items() if where.topic == "a") == 5
    assert {where.topic for where in encoded(rows, "value", "topic", topic="t").records} == {"t"}


def test_headers_nulls_and_empty_ones() -> None:
    rows: list[dict[str, Any]] = [
        {"value": b"1", "headers": [{"key": "h", "value": b"x"}, {"key": "é", "value": None}]},
        {"value": None, "headers": []},
        {"value": b"", "headers": None},
        {"value": b"4", "headers": [{"key": "", "value": b""}]},
    ]
    [records] = encoded(rows, "value", "headers").records.values()
    assert [(one.value, list(one.headers)) for one in records] == [
        (b"1", [("h", b"x"), ("é", None)]),
        (None, []),
        (b"", []),
        (b"4", [("", b"")]),
    ]


def test_timestamps_are_the_time_of_writing_or_the_columns() -> None:
    [records] = encoded([{"value": b"a"}, {"value": b"b"}], "value").records.values()
    assert [one.timestamp for one in records] == [NOW, NOW + 5]
    stamps = [1_600_000_000_000, 1_500_000_000_123]
    rows = [{"value": b"x", "timestamp": stamp * 1000} for stamp in stamps]
    [records] = encoded(rows, "value", "timestamp").records.values()
    assert [one.timestamp for one in records] == stamps


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"value": b"x", "partition": 4}, "partition 4 does not exist"),
        ({"value": b"x", "partition": -1}, "partition -1 does not exist"),
    ],
)
def test_a_row_that_cannot_be_written_is_told_in_three_lines(row: dict[str, Any], said: str) -> None:
    with pytest.raises(RowError, match=said) as raised:
        encoded([row], "value", "partition")
    assert len(str(raised.value).splitlines()) <= 3


def test_a_null_topic_is_refused() -> None:
    with pytest.raises(RowError, match="topic is null"):
        encoded([{"value": b"x", "topic": "t"}, {"value": b"x", "topic": None}], "value", "topic", topic=None)


def test_the_tally_does_not_depend_on_the_order_of_rows() -> None:
    def tally(rows: list[dict[str, Any]]) -> Tally:
        encoder = Encoder(Layout(1, 0), "t", lambda name: 1, lambda: 0.0, lambda *told: None, batch_bytes=1 << 20)
        for row in rows:
            encoder.add(pa.record_batch({"key": pa.array([row["key"]], pa.binary()), "value": [b"v"]}), NOW)
        return encoder.tally

    rows = [{"key": b"k%d" % number} for number in range(20)]
    assert tally(rows) == tally(rows[::-1]) != tally(rows[1:])
    assert tally(rows).rows == 20


@given(st.binary(max_size=40), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_murmur2_of_a_span_is_that_of_the_bytes(key: bytes, before: int) -> None:
    data = b"\xff" * before + key + b"\x01\x02"
    assert murmur2(data, before, before + len(key)) == plain_murmur2(key)


some = st.one_of(st.none(), st.binary(max_size=200))


@given(st.lists(st.tuples(some, some), min_size=1, max_size=30), st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_whatever_is_written_is_read_back(pairs: list[tuple[bytes | None, bytes | None]], batch_bytes: int) -> None:
    out = encoded([{"key": key, "value": value} for key, value in pairs], batch_bytes=batch_bytes)
    found = [(one.key, one.value) for records in out.records.values() for one in records]
    assert sorted(found, key=repr) == sorted(pairs, key=repr)
