"""What the sink writes: read back by fastavro, by Google's Protobuf, and by ourselves."""

from __future__ import annotations

import datetime
import io
import json
import pickle
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from tapelog.spark.formats.decoders import decoder_of
from tapelog.spark.formats.encoding import Encoding, prepare
from tapelog.spark.formats.errors import FormatError
from tapelog.spark.plan.formats import Chosen, Part, Registry, WriteFormats, write_formats
from tapelog.spark.plan.given import Given
from tests.support.registry_server import RegistryServer
from tests.unit.spark.formats.proto_oracle import classes
from tests.unit.spark.formats.test_protobuf import PROTO

KIND = pa.struct(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(9, 2)),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("inner", pa.struct([("x", pa.float64()), ("y", pa.binary())])),
        ("ok", pa.bool_()),
    ]
)
AT = datetime.datetime(2024, 1, 31, 12, 0, 0, 123456, tzinfo=datetime.UTC)
ROWS: list[dict[str, Any] | None] = [
    {
        "id": 1,
        "name": "ö",
        "at": AT,
        "day": datetime.date(2024, 1, 31),
        "price": Decimal("-3.05"),
        "tags": ["a", None],
        "counts": [("k", 1)],
        "inner": {"x": 0.5, "y": b"\0"},
        "ok": True,
    },
    dict.fromkeys(field.name for field in KIND),
    None,
]


def encode(
    rows: list[Any], kind: Any, topic: str | None = "orders", topics: list[str] | None = None, **given: str
) -> list[Any]:
    formats = write_formats(Given({name.replace("__", "."): value for name, value in given.items()}))
    assert formats is not None
    fields = [pa.field("value", kind), pa.field("topic", pa.string())]
    made: Encoding = pickle.loads(pickle.dumps(prepare(formats, pa.schema(fields), topic)))
    arrays = [pa.array(rows, kind), pa.array(topics or [None] * len(rows), pa.string())]
    found = made.encoder()(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))
    assert found.schema.names == ["value", "topic"]
    return found.column(0).to_pylist()


def avro_back(text: str, data: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(json.loads(text)), None)


def test_a_schema_of_our_own_making_is_registered_and_read_by_fastavro() -> None:
    with RegistryServer() as server:
        more = {"valueFormat": "avro", "schemaRegistry__url": server.url}
        data = encode(ROWS, KIND, schemaRegistry__auto__register__schemas="true", **more)
        text = server.subjects["orders-value"][0].text
        assert data[2] is None and data[0][:5] == b"\0\0\0\0\1"
        first = avro_back(text, data[0][5:])
        assert first == ROWS[0] | {"counts": {"k": 1}}  # type: ignore[operator]
        assert avro_back(text, data[1][5:]) == ROWS[1]
        part = Part("value", "avro")
        made = decoder_of(Chosen(part, text, prefixed=True), Registry((server.url,)))
        array, bad = made.decode(pa.array(data, pa.binary()))
        assert not bad and array.to_pylist() == ROWS
        assert encode(ROWS, KIND, **more) == data, "the latest of the subject, where no schema is given"


def test_a_given_schema_says_the_order_the_defaults_and_the_units() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "extra", "type": "string", "default": "d"},
            {"name": "maybe", "type": ["int", "null"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
            {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
            {"name": "p", "type": {"type": "fixed", "name": "P", "size": 4, "logicalType": "decimal", "precision": 5}},
        ],
    }
    kind = pa.struct(
        [("e", pa.string()), ("at", pa.timestamp("us", tz="UTC")), ("f", pa.binary()), ("p", pa.decimal128(5, 0))]
    )
    row = {"e": "B", "at": AT, "f": b"xy", "p": Decimal(-7)}
    given = {"valueFormat": "avro", "valueSchema": json.dumps(schema)}
    back = avro_back(json.dumps(schema), encode([row], kind, **given)[0])
    assert back == row | {"extra": "d", "maybe": None, "at": AT.replace(microsecond=123000)}
    for wrong, said in (({"e": "C"}, "symbol"), ({"e": None}, "null"), ({"f": b"x"}, "bytes")):
        with pytest.raises(FormatError, match=said):
            encode([row | wrong], kind, **given)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.struct([("a", pa.string())]), "does not fit"),
        (pa.struct([("a", pa.int64()), ("b", pa.int32())]), "does not fit"),
        (pa.struct([("a", pa.int32()), ("z", pa.int32())]), "field z"),
        (pa.struct([("b", pa.int32())]), "lacks the field a"),
        (pa.int32(), "does not fit"),
    ],
)
def test_what_does_not_fit_the_schema_is_told_before_anything_is_written(kind: Any, said: str) -> None:
    fields = [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "int"], "default": None}]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    with pytest.raises(FormatError, match=said) as error:
        encode([], kind, valueFormat="avro", valueSchema=schema)
    assert len(str(error.value).splitlines()) <= 3


def test_a_schema_that_is_not_registered_is_not_written_by_unless_told() -> None:
    with RegistryServer() as server:
        given = {"valueFormat": "avro", "schemaRegistry__url": server.url, "valueSchema": '"string"'}
        with pytest.raises(FormatError, match=r"auto\.register"):
            encode(["x"], pa.string(), **given)
        assert not server.subjects
        server.add("orders-value", '"string"')
        assert encode(["x"], pa.string(), **given) == [b"\0\0\0\0\1\2x"]
        server.add("orders-value", '"bytes"')
        latest = encode(["x"], pa.string(), schemaRegistry__use__latest__version="true", **given)
        assert latest == [b"\0\0\0\0\2\2x"]


def test_rows_of_several_topics_carry_the_ids_of_their_subjects() -> None:
    with RegistryServer() as server:
        server.add("a-value", '"string"')
        server.add("b-value", '"bytes"')
        given = {"valueFormat": "avro", "schemaRegistry__url": server.url}
        data = encode(["x", "y", None, "z"], pa.string(), None, ["a", "b", "a", "b"], **given)
        assert [one and one[4] for one in data] == [1, 2, None, 2]


PROTO_KIND = pa.struct(
    [
        ("i", pa.int32()),
        ("ul", pa.decimal128(20, 0)),
        ("s", pa.string()),
        ("status", pa.string()),
        ("maybe", pa.int32()),
        ("packed", pa.list_(pa.int64())),
        ("words", pa.list_(pa.string())),
        ("lines", pa.list_(pa.struct([("sku", pa.string()), ("price", pa.struct([("cents", pa.int64())]))]))),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("at", pa.timestamp("us", tz="UTC")),
        ("d", pa.float64()),
        ("s64", pa.int64()),
        ("sl", pa.int64()),
    ]
)


def test_protobuf_is_read_back_by_google() -> None:
    row = {
        "i": -1, "ul": Decimal(2**64 - 1), "s": "ö", "status": "NEGATIVE", "maybe": 0, "packed": [1, -1],
        "words": ["", "w"], "lines": [{"sku": "x", "price": {"cents": -5}}, {"sku": "", "price": None}],
        "counts": [("k", 3)], "at": AT, "d": 0.25, "s64": -9, "sl": -(2**63),
    }  # fmt: skip
    with RegistryServer() as server:
        server.add("orders-value", PROTO, "PROTOBUF")
        data = encode([row, dict.fromkeys(row)], PROTO_KIND, valueFormat="protobuf", schemaRegistry__url=server.url)
    order = classes(PROTO)["shop.v1.Order"].FromString(data[0][6:])
    assert data[0][:6] == b"\0\0\0\0\1\0" and data[1] == b"\0\0\0\0\1\0"
    assert (order.i, order.ul, order.s, order.status, order.HasField("maybe")) == (-1, 2**64 - 1, "ö", -1, True)
    assert (list(order.packed), list(order.words), dict(order.counts)) == ([1, -1], ["", "w"], {"k": 3})
    assert [(one.sku, one.price.cents) for one in order.lines] == [("x", -5), ("", 0)]
    assert (order.at.seconds, order.at.nanos, order.d) == (int(AT.timestamp()), 123_456_000, 0.25)
    assert (order.s64, order.sl) == (-9, -(2**63))
    given = {"valueFormat": "protobuf", "valueSchema": PROTO}
    for wrong, said in (({"status": "NOPE"}, "no value"), ({"words": [None]}, "null"), ({"ul": Decimal(-1)}, "uint64")):
        with pytest.raises(FormatError, match=said):
            encode([row | wrong], PROTO_KIND, **given)
    with pytest.raises(FormatError, match="field nope"):
        encode([], pa.struct([("nope", pa.int32())]), **given)
    nested = encode([{"sku": "x"}], pa.struct([("sku", pa.string())]), valueMessage="shop.v1.Order.Line", **given)
    assert nested == [b"\x0a\x01x"]


def test_json_and_text() -> None:
    data = encode(ROWS, KIND, valueFormat="json")
    assert json.loads(data[0]) == {
        "id": 1, "name": "ö", "at": "2024-01-31T12:00:00.123456Z", "day": "2024-01-31", "price": "-3.05",
        "tags": ["a", None], "counts": {"k": 1}, "inner": {"x": 0.5, "y": "AA=="}, "ok": True,
    }  # fmt: skip
    assert data[1:] == [b"{}", None]
    assert encode(["ö", None], pa.string(), valueFormat="string") == ["ö".encode(), None]
    with pytest.raises(FormatError, match="json"):
        encode([], KIND, valueFormat="string")


def test_a_column_that_is_not_there_is_told() -> None:
    with pytest.raises(FormatError, match="key"):
        prepare(WriteFormats((Part("key", "string"),)), pa.schema([pa.field("value", pa.string())]), "t")


def test_json_tells_an_instant_in_utc_whatever_zone_the_session_has() -> None:
    berlin = pa.struct([("at", pa.timestamp("us", tz="Europe/Berlin")), ("local", pa.timestamp("us"))])
    data = encode([{"at": AT, "local": AT.replace(tzinfo=None)}], berlin, valueFormat="json")
    assert json.loads(data[0]) == {"at": "2024-01-31T12:00:00.123456Z", "local": "2024-01-31T12:00:00.123456"}


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.timestamp("us", tz="Asia/Tokyo")]
)
def test_a_time_that_json_cannot_tell_is_named(kind: Any) -> None:
    far = pa.scalar(300_000_000_000_000_000, kind)  # the year 11476, which Spark can hold
    with pytest.raises(FormatError, match="years 1 to 9999"):
        encode([far], kind, valueFormat="json")
