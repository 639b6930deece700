"""Frames with timestamps through the sink: whatever a column is encoded as, it is the same instant that is read."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import Topic
from tests.spark.test_sink import to, values
from tests.support.registry_server import RegistryServer

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.timeout(300)

AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {
            "name": "seen",
            "type": {"type": "array", "items": {"type": "long", "logicalType": "timestamp-micros"}},
        },
    ],
}
PROTO = (
    'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message Event { int64 id = 1; '
    "google.protobuf.Timestamp at = 2; google.protobuf.Timestamp local = 3; "
    "repeated google.protobuf.Timestamp seen = 4; }"
)
JSON = "id BIGINT, at TIMESTAMP, local TIMESTAMP_NTZ, seen ARRAY<TIMESTAMP>"
FORMATS = {
    "avro": {"valueFormat": "avro", "valueSchema": json.dumps(AVRO)},
    "protobuf": {"valueFormat": "protobuf", "valueSchema": PROTO},
    "json": {"valueFormat": "json"},
}
MICROS = int(datetime.datetime(2024, 7, 1, 12, 0, 0, 5, tzinfo=datetime.UTC).timestamp()) * 1_000_000 + 5
EVENT = (
    "struct(cast(1 as bigint) as id, timestamp'2024-07-01T12:00:00.000005Z' as at, "
    "timestamp_ntz'2024-07-01T12:00:00.000005' as local, "
    "array(timestamp'2024-07-01T12:00:00.000005Z') as seen) as value"
)


@pytest.fixture
def berlin(spark: Any) -> Any:
    """A session whose time zone is not UTC."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("format", FORMATS)
def test_timestamps_anywhere_in_a_value_are_written_and_read(berlin: Any, topic: Topic, format: str) -> None:
    frame = berlin.sql(f"select {EVENT}")
    frame.write.format("tapelog").options(**to(topic), **FORMATS[format]).mode("append").save()
    read = topic.options() | FORMATS[format] | ({"valueSchema": JSON} if format == "json" else {})
    rows = berlin.read.format("tapelog").options(**read).load()
    row = rows.selectExpr(
        "value.id",
        "unix_micros(value.at) as at",
        "cast(value.local as string) as local",
        "unix_micros(value.seen[0]) as seen",
    ).first()
    assert (row.id, row.at, row.seen) == (1, MICROS, MICROS)
    # Protobuf has no time without a zone: it is written as one in UTC, and shown in the session's
    assert row.local == f"2024-07-01 {14 if format == 'protobuf' else 12}:00:00.000005"


@pytest.mark.parametrize("included", ["false", "true"])
def test_a_column_timestamp_stands_beside_an_encoded_value(berlin: Any, topic: Topic, included: str) -> None:
    frame = berlin.sql("select struct(id) as value, timestamp'2024-07-01T12:00:00Z' as timestamp from range(3)")
    options = to(topic, valueFormat="json", includeTimestamp=included)
    frame.write.format("tapelog").options(**options).mode("append").save()
    rows = berlin.read.format("tapelog").options(**topic.options()).load()
    assert {bytes(row.value) for row in rows.collect()} == {b'{"id":%d}' % number for number in range(3)}
    assert (rows.selectExpr("max(unix_micros(timestamp)) as at").first().at == MICROS - 5) == (included == "true")


def test_a_schema_made_of_columns_has_their_timestamps(berlin: Any, topic: Topic) -> None:
    with RegistryServer() as registry:
        where = {"valueFormat": "avro", "schemaRegistry.url": registry.url}
        more = {"schemaRegistry.auto.register.schemas": "true"}
        berlin.sql(f"select {EVENT}").write.format("tapelog").options(**to(topic), **where, **more).mode(
            "append"
        ).save()
        rows = berlin.read.format("tapelog").options(**topic.options(), **where).load()
        assert rows.selectExpr("unix_micros(value.at) as at").first().at == MICROS
        assert (
            "value:struct<id:bigint,at:timestamp,local:timestamp_ntz,seen:array<timestamp>>"
            in rows.schema.simpleString()
        )


def test_a_stream_writes_them_as_well(berlin: Any, bootstrap: str, topic: Topic, tmp_path: Path) -> None:
    target = Topic(bootstrap, 3)
    topic.write(5)
    stream = berlin.readStream.format("tapelog").options(**topic.options(startingOffsets="earliest")).load()
    events = stream.selectExpr(
        "struct(cast(value as string) as v, timestamp'2024-07-01T12:00:00Z' as at) as value", "timestamp"
    )
    query = (
        events.writeStream.format("tapelog")
        .options(**to(target, valueFormat="json"))
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120) and query.exception() is None
    assert sorted(json.loads(value or b"")["v"] for value in values(target)) == [f"v{number}" for number in range(5)]
    assert {json.loads(value or b"")["at"] for value in values(target)} == {"2024-07-01T12:00:00Z"}
