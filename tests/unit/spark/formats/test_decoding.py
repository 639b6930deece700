"""What a task does to batches: decoding by a registry, and what becomes of corrupt records."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from tapelog.spark.formats.choosing import choose
from tapelog.spark.formats.decoding import Decoding, types_of
from tapelog.spark.formats.errors import CorruptRecordError, FormatError
from tapelog.spark.plan import ReadOptions, read_options
from tests.support.registry_server import RegistryServer

BASE = {"kafka.bootstrap.servers": "b:9092", "subscribe": "orders", "columns": "key,value,offset"}
OLD = json.dumps({"type": "record", "name": "O", "fields": [{"name": "id", "type": "int"}]})
NEW = json.dumps(
    {
        "type": "record",
        "name": "O",
        "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": "-"}],
    }
)
STAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))


def options(**more: str) -> ReadOptions:
    return read_options(BASE | {name.replace("__", "."): value for name, value in more.items()}, streaming=False)


def batch(*values: bytes | None, headers: list[Any] | None = None) -> Any:
    count = len(values)
    columns = {
        "key": pa.array([b"k%d" % row for row in range(count)], pa.binary()),
        "value": pa.array(values, pa.binary()),
        "offset": pa.array(range(100, 100 + count), pa.int64()),
        "timestamp": pa.array([1_000_000] * count, STAMP),
        "headers": pa.array(headers or [None] * count, HEADERS),
    }
    return pa.RecordBatch.from_pydict(columns)


def decoding(given: ReadOptions) -> Decoding:
    formats = given.formats
    assert formats is not None
    return Decoding(formats, choose(formats, given.topics), given.columns, "orders", 3)


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def test_values_of_older_and_newer_schemas_have_the_latest_ones_columns() -> None:
    with RegistryServer() as server:
        old, new = server.add("orders-value", OLD), server.add("orders-value", NEW)
        given = options(valueFormat="avro", keyFormat="string", schemaRegistry__url=server.url)
        made = decoding(given).apply(batch(framed(old, b"\x02"), None, framed(new, b"\x04\x02x")))
        assert made.schema.names == ["key", "value", "offset"]
        assert made.column("value").to_pylist() == [{"id": 1, "note": "-"}, None, {"id": 2, "note": "x"}]
        assert made.column("key").to_pylist() == ["k0", "k1", "k2"]


def test_the_schema_is_chosen_once_and_travels_with_the_reader() -> None:
    with RegistryServer() as server:
        old = server.add("orders-value", OLD)
        given = options(valueFormat="avro", schemaRegistry__url=server.url)
        assert given.formats is not None
        chosen = choose(given.formats, given.topics)
        server.add("orders-value", NEW)
        travelled, formats = pickle.loads(pickle.dumps((chosen, given.formats)))
        assert str(types_of(travelled, formats)["value"]) == "struct<id: int32>"
        made = Decoding(formats, travelled, ("value",), "orders", 0)
        assert made.apply(batch(framed(old, b"\x02"))).column("value").to_pylist() == [{"id": 1}]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"valueSchemaVersion": "1"}, "struct<id: int32>"),
        ({"valueSchemaId": "1"}, "struct<id: int32>"),
        ({"valueSubject": "other"}, "string"),
        ({"valueSubjectStrategy": "record", "valueMessage": "O"}, "struct<id: int64, note: string>"),
        ({"valueSubjectStrategy": "topicRecord", "valueMessage": "O"}, "struct<id: int32>"),
        ({"valueSchema": '"bytes"'}, "binary"),
    ],
)
def test_which_schema_may_be_said(more: dict[str, str], kind: str) -> None:
    with RegistryServer() as server:
        server.add("orders-value", OLD)
        server.add("orders-value", NEW)
        server.add("other", '"string"')
        server.add("O", NEW)
        server.add("orders-O", OLD)
        given = options(valueFormat="avro", schemaRegistry__url=server.url, **more)
        assert given.formats is not None
        assert str(types_of(choose(given.formats, given.topics), given.formats)["value"]) == kind


def test_where_the_schema_cannot_be_known_it_is_told_what_to_set() -> None:
    with RegistryServer() as server:
        server.add("p-value", "{}", "JSON")
        for more, said in (
            ({"subscribe": "a,b"}, "valueSubject"),
            ({"subscribe": "orders"}, "orders-value"),
            ({"subscribe": "p"}, "valueFormat=json"),
            ({"valueSubjectStrategy": "record"}, "valueMessage"),
            ({"valueSchemaId": "77"}, "77"),
        ):
            given = read_options(
                BASE | {"valueFormat": "avro", "schemaRegistry.url": server.url} | more, streaming=False
            )
            assert given.formats is not None
            with pytest.raises(FormatError) as error:
                choose(given.formats, given.topics)
            assert said in str(error.value) and len(str(error.value).splitlines()) <= 3
    given = options(valueFormat="avro", valueSchemaFile="/nowhere/x.avsc")
    assert given.formats is not None
    with pytest.raises(FormatError, match="valueSchemaFile"):
        choose(given.formats, given.topics)


def test_a_corrupt_record_stops_the_query_and_says_which_it_is() -> None:
    made = decoding(options(valueFormat="avro", valueSchema=OLD))
    with pytest.raises(CorruptRecordError) as error:
        made.apply(batch(b"\x02", b"\x02\x02"))
    said = str(error.value)
    assert 'value of topic "orders", partition 3, offset 101' in said and "left over" in said
    assert len(said.splitlines()) == 3 and str(pickle.loads(pickle.dumps(error.value))) == said


def test_or_is_seen_in_a_column_of_its_own() -> None:
    made = decoding(options(valueFormat="avro", valueSchema=OLD, keyFormat="string", onCorrupt="column"))
    found = made.apply(batch(b"\x02", b"", None))
    assert found.schema.names == ["key", "value", "offset", "_corrupt"]
    assert found.column("value").to_pylist() == [{"id": 1}, None, None]
    assert found.column("_corrupt").to_pylist() == [
        None,
        {"reason": "value: the record is cut short", "key": None, "value": b""},
        None,
    ]
    assert made.apply(batch(b"\x02")).column("_corrupt").to_pylist() == [None]


class Letters:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, batch: Any, topic: str, partition: int, bad: Any) -> None:
        self.sent.append((topic, partition, {batch.column("offset")[row].as_py(): why for row, why in bad.items()}))


def test_or_goes_to_the_dead_letters_and_is_no_row() -> None:
    given = options(valueFormat="avro", valueSchema=OLD, onCorrupt="deadLetter", deadLetterTopic="dead")
    made = decoding(given)
    made.letters = letters = Letters()
    found = made.apply(batch(b"\x02", b"", b"\x04"))
    assert found.column("offset").to_pylist() == [100, 102] and found.column("value").to_pylist()[1] == {"id": 2}
    assert letters.sent == [("orders", 3, {101: {"value": "the record is cut short"}})]


def test_ids_may_travel_in_headers() -> None:
    with RegistryServer() as server:
        old, new = server.add("orders-value", OLD), server.add("orders-value", NEW)
        import uuid

        guid = b"\x01" + uuid.UUID(server.schemas[0].guid).bytes
        given = options(valueFormat="avro", schemaRegistry__url=server.url, schemaIdIn="header")
        assert "headers" in given.needed
        by_guid, by_id = ({"key": "__value_schema_id", "value": one} for one in (guid, framed(new, b"")))
        made = decoding(given).apply(
            batch(b"\x02", b"\x04\x02x", framed(old, b"\x06"), headers=[[by_guid], [by_id], None])
        )
        assert [row["id"] for row in made.column("value").to_pylist()] == [1, 2, 3]
