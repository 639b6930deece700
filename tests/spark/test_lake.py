"""A topic into lake tables and back, by Spark: rows compared by key, across restarts."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tapelog.spark import lake
from tests.spark.conftest import Topic
from tests.spark.test_formats import send, written
from tests.spark.test_sink import to, values
from tests.support.registry_server import RegistryServer

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")


@pytest.mark.parametrize("format", ["iceberg", "delta", "parquet"])
def test_a_topic_is_archived_once_across_restarts(spark: Any, topic: Topic, tmp_path: Path, format: str) -> None:
    table = lake.table(f"file://{tmp_path}/orders", format=format, partition="hour(timestamp)")
    results = []

    def archive() -> None:
        lake.archive(
            spark,
            topic.options(includeHeaders="true", maxOffsetsPerTrigger=40),
            table,
            name="orders",
            checkpoint=f"{tmp_path}/checkpoint",
            follow=False,
            on_batch=lambda batch, result: results.append(result),
        )

    topic.write(60)
    archive()
    topic.write(50, 60)
    archive()
    archive()  # nothing new
    assert sum(result.rows for result in results) == 110
    found = lake.read(spark, table).collect()
    assert Counter(bytes(row.value) for row in found) == Counter(b"v%d" % n for n in range(110))
    assert sum(1 for row in found if row.headers) == 37
    assert lake.compact(table).files_before > 1
    assert lake.read(spark, table).count() == 110
    fresh = lake.freshness(table)
    assert fresh.rows == 110 and fresh.event_lag_s is not None and 0 <= fresh.event_lag_s < 600


def test_a_query_whose_checkpoint_was_deleted_stops_with_three_lines(spark: Any, topic: Topic, tmp_path: Path) -> None:
    table = lake.table(f"file://{tmp_path}/orders", format="parquet")
    topic.write(10)
    lake.archive(spark, topic.options(), table, name="orders", checkpoint=f"{tmp_path}/one", follow=False)
    with pytest.raises(Exception, match="another checkpoint"):
        lake.archive(spark, topic.options(), table, name="orders", checkpoint=f"{tmp_path}/two", follow=False)
    assert lake.read(spark, table).count() == 10


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_a_record_with_a_far_time_stops_an_archive_until_the_table_is_told_what_to_do(
    spark: Any, bootstrap: str, tmp_path: Path, format: str
) -> None:
    topic = Topic(bootstrap, 1, {"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer({"bootstrap.servers": bootstrap})
    for number, year in enumerate((2026, 11_476, 2026)):
        producer.produce(topic.name, b"v%d" % number, timestamp=(year - 1970) * 31_556_952_000)
    assert producer.flush(30) == 0

    def archive(**more: str) -> None:
        where = lake.table(f"file://{tmp_path}/orders", format=format, **more)
        lake.archive(spark, topic.options(), where, name="orders", checkpoint=f"{tmp_path}/c", follow=False)

    for _ in range(2):
        with pytest.raises(lake.LakeError, match="outside the years 1 to 9999") as raised:
            archive()
        assert 'on_far_timestamp="null"' in str(raised.value)
    archive(on_far_timestamp="null")
    found = lake.read(spark, lake.table(f"file://{tmp_path}/orders", format=format)).orderBy("offset").collect()
    assert [bytes(row.value) for row in found] == [b"v0", b"v1", b"v2"]
    assert [row.timestamp is None for row in found] == [False, True, False]


def test_nested_columns_of_any_dataframe_go_into_a_table_and_come_back(spark: Any, tmp_path: Path) -> None:
    rows = spark.sql(
        "select id, named_struct('city', 'Ulm', 'zip', cast(id as int)) as place, array(1.5, 2.5) as prices, "
        "map('a', id) as counts, timestamp'2026-11-16 12:00:00' + make_interval(0,0,0,0,id) as at, "
        "cast(1.25 as decimal(10,2)) as total, date'2026-11-16' as day, id % 2 = 0 as even from range(48)"
    )
    for format in ("iceberg", "delta", "parquet"):
        table = lake.table(f"file://{tmp_path}/{format}", format=format, partition="day(at)")
        assert lake.write_batch(rows, table, app="app", version=7).rows == 48
        assert lake.write_batch(rows, table, app="app", version=7).skipped
        back = lake.read(spark, table)
        assert back.schema.simpleString() == rows.schema.simpleString()
        assert sorted(map(str, back.collect())) == sorted(map(str, rows.collect()))
        assert lake.read(spark, table, since="2026-11-17", until="2026-11-18").count() == 24


RATE = 20
"""Rows per second: five seconds' rows are a chunk."""


class Enough(Exception):
    """Stops a replay after its first chunk."""


def test_a_replay_keeps_its_rate_and_goes_on_after_it_was_stopped_with_each_row_once(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    table = lake.table(f"file://{tmp_path}/orders", format="parquet")
    topic.write(250)
    lake.archive(spark, topic.options(), table, name="orders", checkpoint=f"{tmp_path}/checkpoint", follow=False)
    target, done = Topic(topic.bootstrap, 3), []

    def progress(how_far: lake.Replayed) -> None:
        done.append((time.monotonic(), how_far.rows))
        if len(done) == 1:
            raise Enough

    def replay() -> lake.Replayed:
        given = {"state": f"file://{tmp_path}/replay", "rows_per_second": RATE, "on_progress": progress}
        return lake.replay(spark, table, to(target), **given)

    with pytest.raises(Enough):
        replay()
    assert 0 < done[0][1] < 250
    begun = time.monotonic()
    assert replay().rows_all == 250
    assert values(target) == Counter(b"v%d" % number for number in range(250))
    last, rows = done[-1][0], done[-2][1] - done[0][1]  # before its last chunk it waits for those before it
    assert len(done) == 3 and last - begun >= rows / RATE, done


def test_a_schema_that_evolves_in_the_registry_evolves_the_table(spark: Any, topic: Topic, tmp_path: Path) -> None:
    old = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"}]}
    note = {"name": "note", "type": ["null", "string"], "default": None}
    new = {**old, "fields": [*old["fields"], note]}  # type: ignore[list-item]
    table = lake.table(f"file://{tmp_path}/orders", format="iceberg")

    def archive(registry: RegistryServer) -> None:
        given = topic.options(valueFormat="avro", columns="value,timestamp") | {"schemaRegistry.url": registry.url}
        lake.archive(
            spark,
            given,
            table,
            name="orders",
            checkpoint=f"{tmp_path}/checkpoint",
            follow=False,
            select=lambda frame: frame.select("value.*", "timestamp"),
        )

    with RegistryServer() as registry:
        first = registry.add(f"{topic.name}-value", json.dumps(old))
        send(topic, *[written(old, first, {"id": number}) for number in range(3)])
        archive(registry)
        assert "note" not in lake.read(spark, table).columns
        second = registry.add(f"{topic.name}-value", json.dumps(new))
        send(topic, written(old, first, {"id": 3}), written(new, second, {"id": 4, "note": "new"}))
        archive(registry)
    rows = lake.read(spark, table).orderBy("id").collect()
    assert [(row.id, row.note) for row in rows] == [(0, None), (1, None), (2, None), (3, None), (4, "new")]
