"""Avro into columns: equal to what fastavro reads, whatever the schemas."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from tapelog.spark.formats.avro.growing import avro_decoder
from tapelog.spark.formats.avro.schema import parse_avro
from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.trees import TreeDecoder
from tapelog.spark.registry.client import Registered

Fields = list[dict[str, Any]]


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def decoder(reader: Any, writers: dict[int, Any] | None = None) -> TreeDecoder:
    """Into `reader`; with writers, values carry ids."""
    known = {number: Registered(number, "avro", json.dumps(one)) for number, one in (writers or {}).items()}
    return avro_decoder(parse_avro(json.dumps(reader)), None if writers is None else known.get)


def prefixed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def read(reader: Any, values: list[bytes | None], writers: dict[int, Any] | None = None) -> list[Any]:
    array, bad = decoder(reader, writers).decode(pa.array(values, pa.binary()))
    assert not bad
    array.validate(full=True)
    return array.to_pylist()


def evolved(writer: Any, reader: Any, value: Any) -> Any:
    """What `value`, written by one schema, is when it is read by the other."""
    return read(reader, [prefixed(7, written(writer, value))], {7: writer})[0]


EVERY = record(
    field("b", "boolean"),
    field("i", "int"),
    field("l", "long"),
    field("f", "float"),
    field("d", "double"),
    field("s", "string"),
    field("y", "bytes"),
    field("o", ["null", "string"]),
    field("a", {"type": "array", "items": ["null", "long"]}),
    field("m", {"type": "map", "values": "double"}),
    field("e", {"type": "enum", "name": "E", "symbols": ["A", "a_symbol_of_many_letters"]}),
    field("x", {"type": "fixed", "name": "X", "size": 3}),
    field("r", ["null", record(field("deep", {"type": "array", "items": "string"}), name="Inner")]),
)
VALUES: list[dict[str, Any]] = [
    {
        "b": True,
        "i": -1,
        "l": 2**62,
        "f": 1.5,
        "d": -2.25,
        "s": "a text that is longer than a view",
        "y": b"\0\xff",
        "o": None,
        "a": [1, None, -3],
        "m": {"k": 0.5, "another key of some length": -1.0},
        "e": "a_symbol_of_many_letters",
        "x": b"abc",
        "r": {"deep": ["", "x" * 40]},
    },
    {
        "b": False,
        "i": 2**31 - 1,
        "l": -(2**63),
        "f": 0.0,
        "d": 1e300,
        "s": "",
        "y": b"",
        "o": "ö",
        "a": [],
        "m": {},
        "e": "A",
        "x": b"\0\0\0",
        "r": None,
    },
]


def test_every_type_is_read_as_fastavro_wrote_it() -> None:
    found = read(EVERY, [written(EVERY, value) for value in VALUES])
    assert [row | {"m": dict(row["m"])} for row in found] == VALUES


def test_a_null_value_is_a_null_row() -> None:
    schema = record(field("i", "int"))
    assert read(schema, [None, written(schema, {"i": 3}), None]) == [None, {"i": 3}, None]
    assert read(schema, []) == [] and read(schema, [None]) == [None]


def test_logical_types_become_sparks() -> None:
    schema = record(
        field("day", {"type": "int", "logicalType": "date"}),
        field("ms", {"type": "long", "logicalType": "timestamp-millis"}),
        field("us", {"type": "long", "logicalType": "timestamp-micros"}),
        field("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
        field("time", {"type": "int", "logicalType": "time-millis"}),
        field("id", {"type": "string", "logicalType": "uuid"}),
        field("dec", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
        field("fix", {"type": "fixed", "name": "F", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 0}),
        field("bad", {"type": "bytes", "logicalType": "decimal", "precision": 99}),
    )
    numbers = {"day": 19000, "ms": 1_700_000_000_123, "us": 1_700_000_000_123_456, "local": 5, "time": 7}
    raw = record(
        *(field(name, "int" if name in ("day", "time") else "long") for name in numbers),
        field("id", "string"),
        field("dec", "bytes"),
        field("fix", {"type": "fixed", "name": "F", "size": 8}),
        field("bad", "bytes"),
    )
    more = {"id": "x", "dec": b"\xfe\xd4", "fix": (-5).to_bytes(8, "big", signed=True), "bad": b"\1"}
    array, bad = decoder(schema).decode(pa.array([written(raw, numbers | more)], pa.binary()))
    assert not bad
    assert str(array.type) == (
        "struct<day: date32[day], ms: timestamp[us, tz=UTC], us: timestamp[us, tz=UTC], local: timestamp[us], "
        "time: int32, id: string, dec: decimal128(9, 2), fix: decimal128(18, 0), bad: binary>"
    )
    row = array.to_pylist()[0]
    assert (row["ms"].timestamp(), row["us"].microsecond, row["time"]) == (1_700_000_000.123, 123_456, 7)
    assert (str(row["dec"]), str(row["fix"]), row["bad"]) == ("-3.00", "-5", b"\1")
    assert str(row["day"]) == "2022-01-08"


@pytest.mark.parametrize(
    ("theirs", "ours", "value", "found"),
    [
        ("int", "long", -7, -7),
        ("int", "float", 7, 7.0),
        ("int", "double", 7, 7.0),
        ("long", "float", 2**40, 2.0**40),
        ("long", "double", 2**40, 2.0**40),
        ("float", "double", 1.5, 1.5),
        ("string", "bytes", "é", "é".encode()),
        ("bytes", "string", "é".encode(), "é"),
        ("int", ["null", "long"], 5, 5),
        (["null", "int"], "long", 5, 5),
        (["null", "int"], ["string", "null", "long"], None, None),
        (["int", "long"], ["null", "int", "long"], 9, 9),
        (["string", "int"], ["int", "string"], "x", {"member0": None, "member1": "x"}),
        ("int", ["string", "double"], 3, {"member0": None, "member1": 3.0}),
    ],
)
def test_types_are_promoted_and_unions_resolved(theirs: Any, ours: Any, value: Any, found: Any) -> None:
    writer, reader = record(field("v", theirs)), record(field("v", ours))
    assert evolved(writer, reader, {"v": value}) == {"v": found}


def test_fields_are_found_by_name_and_alias_left_out_and_filled_with_defaults() -> None:
    writer = record(
        field("gone", {"type": "map", "values": {"type": "array", "items": ["null", "string"]}}),
        field("old", "string"),
        field("kept", "int"),
    )
    reader = record(
        field("kept", "long"),
        field("new", "string", aliases=["old"]),
        field("text", "string", default="a default of more than twelve letters"),
        field("list", {"type": "array", "items": "int"}, default=[1, 2]),
        field("maybe", ["null", "int"], default=None),
        field("inner", record(field("x", "double", default=0.5), field("y", "bytes"), name="I"), default={"y": "\xff"}),
        field("e", {"type": "enum", "name": "E", "symbols": ["P", "Q"]}, default="Q"),
    )
    value = {"gone": {"a": ["x", None]}, "old": "here", "kept": 4}
    assert evolved(writer, reader, value) == {
        "kept": 4,
        "new": "here",
        "text": "a default of more than twelve letters",
        "list": [1, 2],
        "maybe": None,
        "inner": {"x": 0.5, "y": b"\xff"},
        "e": "Q",
    }


def test_a_symbol_that_the_reader_does_not_know_takes_the_enums_default() -> None:
    writer = record(field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}))
    reader = record(field("e", {"type": "enum", "name": "E", "symbols": ["B", "C"], "default": "C"}))
    assert evolved(writer, reader, {"e": "A"}) == {"e": "C"}
    assert evolved(writer, reader, {"e": "B"}) == {"e": "B"}


def test_a_recursive_part_that_only_the_writer_has_is_passed_over_to_a_bounded_depth() -> None:
    writer = record(field("tree", ["null", "R"]), field("v", "int"))
    reader = record(field("v", "int"))
    deep: Any = {"tree": None, "v": 1}
    for number in range(50):
        deep = {"tree": deep, "v": number}
    assert evolved(writer, reader, deep) == {"v": 49}
    hostile = prefixed(7, b"\x02" * 100_000)
    good = prefixed(7, written(writer, deep))
    array, bad = decoder(reader, {7: writer}).decode(pa.array([hostile, good] * 3, pa.binary()))
    assert sorted(bad) == [0, 2, 4] and "deep" in bad[0]
    assert array.to_pylist() == [None, {"v": 49}] * 3


def test_schemas_of_several_ids_may_alternate() -> None:
    old, new = record(field("a", "int")), record(field("a", "long"), field("b", "string", default="-"))
    values = [prefixed(1, written(old, {"a": 1})), prefixed(2, written(new, {"a": 2, "b": "x"}))] * 3
    assert read(new, values, {1: old, 2: new}) == [{"a": 1, "b": "-"}, {"a": 2, "b": "x"}] * 3


def test_references_to_other_schemas_are_followed() -> None:
    inner = record(field("x", "int"), name="Inner", namespace="a.b")
    outer = {
        "type": "record",
        "name": "Outer",
        "namespace": "a.b",
        "fields": [field("in", "Inner"), field("l", {"type": "array", "items": "a.b.Inner"})],
    }
    made = avro_decoder(parse_avro(json.dumps(outer), [json.dumps(inner)]), None)
    array, bad = made.decode(pa.array([b"\x02\x02\x04\x00"], pa.binary()))
    assert not bad and array.to_pylist() == [{"in": {"x": 1}, "l": [{"x": 2}]}]


WRITER = record(field("s", "string"), field("n", ["null", "int"]), field("l", {"type": "array", "items": "int"}))
GOOD = {"s": "fine", "n": 1, "l": [1]}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "schema id"),
        (b"{}", "schema id"),
        (b"\1" + bytes(8), "schema id"),
        (prefixed(99, b"\0"), "no schema 99"),
        (prefixed(8, b"\0"), "cannot be read by ours"),
        (prefixed(7, written(WRITER, GOOD)[:-1]), "cut short"),
        (prefixed(7, written(WRITER, GOOD) + b"\0"), "left over"),
        (prefixed(7, b"\x7f"), "length"),
        (prefixed(7, b"\x01"), "length"),
        (prefixed(7, b"\x00\x04\x00"), "no branch"),
        (prefixed(7, b"\x04\xff\xff\x00\x00"), "UTF-8"),
        (prefixed(7, b"\x00\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"), "32 bits"),
        (prefixed(7, b"\xff" * 12), "too long"),
        (prefixed(7, b"\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "cut short"),
    ],
)
def test_a_corrupt_record_spoils_no_other(data: bytes, reason: str) -> None:
    other = record(field("s", "int"))
    good = prefixed(7, written(WRITER, GOOD))
    made = decoder(WRITER, {7: WRITER, 8: other})
    for values, rows in (([good, data, good], [GOOD, None, GOOD]), ([data], [None]), ([good, data], [GOOD, None])):
        array, bad = made.decode(pa.array(values, pa.binary()))
        array.validate(full=True)
        assert array.to_pylist() == rows
        assert list(bad) == [values.index(data)] and reason in bad[values.index(data)], bad
    array, bad = made.decode(pa.array([good], pa.binary()))
    assert array.to_pylist() == [GOOD] and not bad


def test_items_that_take_no_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapelog.spark.formats.avro import nodes

    if nodes.__file__.endswith(".py"):  # compiled, it cannot be lowered, and is reached within a second
        monkeypatch.setattr(nodes, "ITEMS_MAX", 1000)
    schema = record(field("l", {"type": "array", "items": "null"}))
    _, bad = decoder(schema).decode(pa.array([b"\xfe\xff\xff\xff\x0f\x00"], pa.binary()))
    assert "too many" in bad[0]


def test_a_decimal_with_too_many_digits_is_corrupt() -> None:
    schema = record(field("d", {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 0}))
    values = [b"\x04\x03\xe7", b"\x04\x03\xe8", b"\x26" + b"\x00" * 18 + b"\x05", b"\x26" + b"\x7f" * 19]
    array, bad = decoder(schema).decode(pa.array(values, pa.binary()))
    assert [row and int(row["d"]) for row in array.to_pylist()] == [999, None, 5, None]
    assert "digits" in bad[1] and list(bad) == [1, 3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ('"nothing"', "nothing"),
        ('{"type": "record", "name": "R"}', "no fields"),
        ('{"type": "array"}', "items"),
        ('["int", "int"]', "two branches"),
        ('["int", ["null"]]', "within a union"),
        ('{"type": "enum", "name": "E"}', "symbols"),
        ('{"type": "fixed", "name": "F"}', "size"),
        ('{"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}', "within itself"),
        ("[" * 100 + "]" * 100, "deep"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]}',
            "twice",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        avro_decoder(parse_avro(text), None)


def test_a_default_that_does_not_fit_and_a_field_without_one_are_told() -> None:
    writer = record(field("a", "int"))
    for ours, reason in ((field("b", "int", default="x"), "default"), (field("b", "int"), "no field b")):
        _, bad = decoder(record(ours), {7: writer}).decode(pa.array([prefixed(7, b"\2")], pa.binary()))
        assert reason in bad[0]
