"""Formats with a real Spark, a real broker and a registry over HTTP."""

from __future__ import annotations

import contextlib
import io
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.spark.conftest import Topic
from tests.support.registry_server import RegistryServer

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
fastavro = pytest.importorskip("fastavro", reason="needs fastavro (requirements/spark.txt)")

OLD = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "int"}]}
NEW = {
    "type": "record",
    "name": "O",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "double"}}, "default": {}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            "default": "",
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    ],
}
SECRET = "hush-hush-hush"


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer(user=f"me:{SECRET}") as server:
        yield server


def written(schema: Any, number: int, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def send(topic: Topic, *values: bytes | None) -> None:
    producer = Producer({"bootstrap.servers": topic.bootstrap})
    for number, value in enumerate(values):
        producer.produce(topic.name, value, b"k%d" % number, partition=0, headers=[("h", b"v")])
    assert producer.flush(30) == 0


def told(topic: Topic, registry: RegistryServer, **more: str) -> dict[str, str]:
    login = {"schemaRegistry.url": registry.url, "schemaRegistry.basic.auth.user.info": f"me:{SECRET}"}
    return topic.options(**more) | login


def orders(topic: Topic, registry: RegistryServer) -> list[bytes]:
    """Four values by two schemas, the last of which is broken."""
    old = registry.add(f"{topic.name}-value", json.dumps(OLD))
    new = registry.add(f"{topic.name}-value", json.dumps(NEW))
    full = {"id": 2, "note": "x", "tags": {"a": [0.5]}, "price": b"\x01\x00", "at": 1_700_000_000_000}
    plain = json.loads(json.dumps(NEW))
    plain["fields"][3]["type"] = "bytes"
    plain["fields"][4]["type"] = "long"
    return [written(OLD, old, {"id": 1}), written(plain, new, full), written(OLD, old, {"id": 3}), b"\0\0\0\0\1"]


def test_avro_is_read_as_columns_whatever_schema_wrote_it(spark: Any, topic: Topic, registry: RegistryServer) -> None:
    send(topic, *orders(topic, registry)[:3], None)
    given = told(topic, registry, valueFormat="avro", keyFormat="string", columns="key,value,offset")
    frame = spark.read.format("tapelog").options(**given).load()
    assert frame.schema.simpleString() == (
        "struct<key:string,value:struct<id:bigint,note:string,tags:map<string,array<double>>,price:decimal(9,2),"
        "at:timestamp>,offset:bigint>"
    )
    rows = frame.orderBy("offset").collect()
    assert [row.key for row in rows] == ["k0", "k1", "k2", "k3"] and rows[3].value is None
    assert [(row.value.id, row.value.note) for row in rows[:3]] == [(1, None), (2, "x"), (3, None)]
    assert rows[1].value.tags == {"a": [0.5]} and str(rows[1].value.price) == "2.56"
    assert frame.selectExpr("sum(value.id) as total").first().total == 6


def test_secrets_are_not_in_plans_and_errors(spark: Any, topic: Topic, registry: RegistryServer) -> None:
    send(topic, *orders(topic, registry))
    given = told(topic, registry, valueFormat="avro", columns="value")
    frame = spark.read.format("tapelog").options(**given).load()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        frame.explain("extended")
    assert "value" in shown.getvalue() and SECRET not in shown.getvalue()
    assert SECRET not in frame._jdf.queryExecution().toString()
    with pytest.raises(Exception, match="offset 3") as error:
        frame.collect()
    assert SECRET not in str(error.value) and f'topic "{topic.name}", partition 0' in str(error.value)


def test_corrupt_records_are_a_column_in_a_stream(
    spark: Any, topic: Topic, registry: RegistryServer, tmp_path: Any
) -> None:
    send(topic, *orders(topic, registry))
    given = told(topic, registry, valueFormat="avro", onCorrupt="column", startingOffsets="earliest")
    stream = spark.readStream.format("tapelog").options(**given).load()
    name = f"q{uuid.uuid4().hex}"
    query = (
        stream.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
    ).start()
    assert query.awaitTermination(60)
    rows = spark.table(name).orderBy("offset").collect()
    assert [row.value and row.value.id for row in rows] == [1, 2, 3, None]
    assert [row._corrupt is None for row in rows] == [True, True, True, False]
    assert rows[3]._corrupt.value == b"\0\0\0\0\1" and "cut short" in rows[3]._corrupt.reason


def test_corrupt_records_go_to_the_dead_letters(spark: Any, topic: Topic, registry: RegistryServer) -> None:
    dead = Topic(topic.bootstrap, 1)
    send(topic, *orders(topic, registry))
    more = {"valueFormat": "avro", "onCorrupt": "deadLetter", "deadLetterTopic": dead.name, "columns": "value"}
    frame = spark.read.format("tapelog").options(**told(topic, registry, **more)).load()
    assert sorted(row.value.id for row in frame.collect()) == [1, 2, 3]
    consumer = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": "dead", "auto.offset.reset": "earliest"})
    consumer.subscribe([dead.name])
    letter = consumer.poll(30)
    consumer.close()
    assert letter is not None and letter.error() is None
    headers = dict(letter.headers())
    assert (letter.key(), letter.value(), headers["h"]) == (b"k3", b"\0\0\0\0\1", b"v")
    origin = [headers[f"original-{name}"].decode() for name in ("topic", "partition", "offset")]
    assert origin == [topic.name, "0", "3"] and b"cut short" in headers["error-message"]


def test_json_and_protobuf_by_a_given_schema(spark: Any, topic: Topic) -> None:
    proto = 'syntax = "proto3"; message M { int32 id = 1; repeated string tags = 2; map<string, int64> n = 3; }'
    send(topic, b"\x08\x05\x12\x01x\x12\x01y\x1a\x05\x0a\x01k\x10\x07")
    given = topic.options(valueFormat="protobuf", valueSchema=proto, keyFormat="binary")
    row = spark.read.format("tapelog").options(**given).load().first()
    assert (row.value.id, row.value.tags, row.value.n) == (5, ["x", "y"], {"k": 7})
    other = Topic(topic.bootstrap, 1)
    send(other, b'{"id": 1, "in": {"at": "2024-01-31T12:00:00Z"}}', b'{"id": 2}')
    given = other.options(valueFormat="json", valueSchema="id INT, in STRUCT<at: TIMESTAMP>")
    frame = spark.read.format("tapelog").options(**given).load()
    assert frame.selectExpr("cast(value.in.at as long) as s").orderBy("s").collect()[1].s == 1706702400
