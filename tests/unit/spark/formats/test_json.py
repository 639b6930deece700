"""JSON into columns: in bulk and one by one, with the same rows either way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.json.decoder import json_decoder
from tapelog.spark.formats.json.schemas import json_type
from tapelog.spark.plan.formats import Reference

DDL = "id BIGINT, name STRING, price DOUBLE, ok BOOLEAN, tags ARRAY<STRING>, in STRUCT<x: INT, `a b`: STRING>"
ROW = {"id": 1, "name": "ö", "price": 1.5, "ok": True, "tags": ["a", None], "in": {"x": 3, "a b": "c"}}


def decode(schema: str, *values: bytes | str | None) -> tuple[list[Any], dict[int, str]]:
    data = [value.encode() if isinstance(value, str) else value for value in values]
    array, bad = json_decoder(schema).decode(pa.array(data, pa.binary()))
    array.validate(full=True)
    return array.to_pylist(), bad


def test_rows_have_the_schemas_fields_and_no_others() -> None:
    text = json.dumps(ROW | {"unknown": {"deep": [1, 2]}}, indent=1)
    empty = dict.fromkeys(ROW)
    assert decode(DDL, text, None, "{}") == ([ROW, None, empty], {})


@pytest.mark.parametrize("beside", ["{}", '{"a": 1', '{"d": 1.5}'])
def test_the_literal_null_is_a_struct_of_nulls_as_to_from_json(beside: str) -> None:
    schema = "a INT, in STRUCT<x: INT>" + (", d DECIMAL(4,1)" if "d" in beside else "")
    rows, _ = decode(schema, "null", None, " null\n", '{"in": null}', beside)
    empty = dict.fromkeys(rows[0])
    assert rows[:4] == [empty, None, empty, empty]
    assert decode("ARRAY<INT>", "null", None) == ([None, None], {})
    assert decode("MAP<STRING, INT>", "null", beside)[0][0] is None


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("DECIMAL(10,2)", "12.345", "12.35"),
        ("DECIMAL(10,2)", "-12.345", "-12.35"),
        ("DECIMAL(10,2)", '"12.345"', "12.35"),
        ("DECIMAL(10,2)", "0.005", "0.01"),
        ("DECIMAL(10,2)", "1e3", "1000.00"),
        ("DECIMAL(10,2)", "12.34499999999999999999999999999999999999999999999999", "12.34"),
        ("DECIMAL(3,2)", "9.995", None),
        ("DECIMAL(3,2)", '"1_0"', None),
        ("DECIMAL(3,2)", '" 1"', None),
        ("DECIMAL(38,10)", "1234567890123456789012345678.12345678905", "1234567890123456789012345678.1234567891"),
        ("DECIMAL(20,3)", "12345678901234567.125", "12345678901234567.125"),
    ],
)
def test_decimals_keep_their_digits_and_are_rounded_half_up(kind: str, text: str, wanted: str | None) -> None:
    rows, bad = decode(
        f"d {kind}, l ARRAY<{kind}>, f DOUBLE, s STRING", f'{{"d": {text}, "l": [{text}], "f": 0.1, "s": 0.1}}'
    )
    if wanted is None:
        assert rows == [None] and "is not a decimal" in bad[0]
    else:
        value = Decimal(wanted)
        assert (rows, bad) == ([{"d": value, "l": [value], "f": 0.1, "s": "0.1"}], {})


def test_a_schema_id_in_front_is_taken_off() -> None:
    assert decode("a INT", b"\0\0\0\0\7" + b'{"a": 1}', '{"a": 2}', None) == ([{"a": 1}, {"a": 2}, None], {})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{"a": 1', "not JSON"),
        ("", "not JSON"),
        ("{}}", "not JSON"),
        ('{"a": 1}}\n{"v":{"a": 2}', "not JSON"),
        ('{"a": 1}\n{"a": 2}', "not JSON"),
        ('"x', "not JSON"),
        ("[1]", "not an object"),
        ('{"a": "1"}', "a is not a whole number"),
        ('{"a": 1.5}', "a is not a whole number"),
        ('{"a": true}', "a is not a whole number"),
        ('{"a": 3000000000}', "a is not a whole number"),
        ('{"a": NaN}', "whole number"),
        (b'{"s": "\xff"}', "UTF-8"),
        ('{"s": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "not JSON"),
        ('{"l": {}}', "l is not an array"),
    ],
)
def test_a_corrupt_value_spoils_no_other(value: bytes | str, reason: str) -> None:
    good = '{"a": 1, "s": "x", "l": [true]}'
    rows, bad = decode("a INT, s STRING, l ARRAY<BOOLEAN>", good, value, good)
    assert rows == [{"a": 1, "s": "x", "l": [True]}, None, {"a": 1, "s": "x", "l": [True]}]
    assert list(bad) == [1] and reason in bad[1]


def test_types_that_json_has_not_are_read_from_text_and_numbers() -> None:
    schema = "t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, p DECIMAL(6,2), b BINARY, m MAP<STRING, DOUBLE>"
    text = '{"t": "2024-01-31T12:00:00+02:00", "n": "2024-01-31 12:00:00", "d": "2024-01-31", '
    text += '"p": 12.5, "b": "AAE=", "m": {"k": 1}}'
    rows, bad = decode(schema, text, '{"t": 1.5, "p": "7"}')
    assert not bad
    first = {name: str(value) for name, value in rows[0].items()}
    assert first["t"] == "2024-01-31 10:00:00+00:00" and first["n"] == "2024-01-31 12:00:00"
    assert (first["d"], first["p"], rows[0]["b"], rows[0]["m"]) == ("2024-01-31", "12.50", b"\0\1", [("k", 1.0)])
    assert rows[1]["t"].timestamp() == 1.5 and str(rows[1]["p"]) == "7.00"
    _, bad = decode(schema, '{"t": "yesterday"}', '{"d": 5}', '{"p": 123456}', '{"b": "ä"}')
    assert len(bad) == 4


def test_timestamps_are_parsed_in_bulk_and_mean_the_same_one_by_one() -> None:
    made = json_decoder("t TIMESTAMP")
    values = pa.array([b'{"t": "2024-01-31T12:00:00.123456Z"}', b'{"t": null}'], pa.binary())
    in_bulk = made._at_once(values)
    assert in_bulk is not None and in_bulk.to_pylist() == made._one_by_one(values.to_pylist())[0].to_pylist()


def test_what_is_no_text_becomes_its_json_where_text_is_wanted() -> None:
    assert decode("s STRING", '{"s": {"a": [1, "ö"]}}', '{"s": 5}')[0] == [{"s": '{"a":[1,"ö"]}'}, {"s": "5"}]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcv"), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.one_of(
    ANYTHING.map(json.dumps),
    st.fixed_dictionaries({}, optional={"a": st.integers(), "b": st.text(), "c": st.lists(st.floats())}).map(
        json.dumps
    ),
    st.text(alphabet='{}[]",:v01a \n\\', max_size=30),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | DOCUMENTS, max_size=5))
def test_in_bulk_and_one_by_one_tell_the_same(documents: list[str | None]) -> None:
    made = json_decoder("a BIGINT, b STRING, c ARRAY<DOUBLE>, v STRUCT<a: INT>")
    values = [None if one is None else one.encode() for one in documents]
    array, bad = made.decode(pa.array(values, pa.binary()))
    slow, wrong = made._one_by_one(values)
    assert repr(array.to_pylist()) == repr(slow.to_pylist()) and bad == wrong  # NaN is not equal to itself


def test_nan_and_infinity_are_numbers_and_neither_decimals_nor_times() -> None:
    rows, bad = decode("x DOUBLE, y DOUBLE", '{"x": NaN, "y": -Infinity}', '{"x": 1}', "nothing")
    assert repr(rows) == repr([{"x": float("nan"), "y": float("-inf")}, {"x": 1.0, "y": None}, None]) and set(bad) == {
        2
    }
    for kind in ("DECIMAL(5,1)", "TIMESTAMP", "BIGINT"):
        rows, bad = decode(f"x {kind}", '{"x": NaN}', '{"x": Infinity}', '{"x": "NaN"}')
        assert rows == [None, None, None] and set(bad) == {0, 1, 2}, kind


SPARK = {
    "type": "struct",
    "fields": [{"name": "a", "type": "decimal(5,1)"}, {"name": "b", "type": {"type": "array", "elementType": "long"}}],
}
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "i": {"type": "integer"},
        "n": {"type": ["number", "null"]},
        "o": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/S"}]},
        "m": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "x": {},
        "l": {"type": "array", "items": {"$ref": "other.json"}},
    },
    "definitions": {"S": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INT", "int32"),
        ("a int not null comment 'x', b varchar(3)", "struct<a: int32, b: string>"),
        (
            "STRUCT<a: DECIMAL(5,1), b: ARRAY<MAP<STRING, DATE>>>",
            "struct<a: decimal128(5, 1), b: list<element: map<string, date32[day]>>>",
        ),
        (json.dumps(SPARK), "struct<a: decimal128(5, 1), b: list<element: int64>>"),
        (
            json.dumps(JSON_SCHEMA),
            "struct<i: int64, n: double, o: string, m: map<string, bool>, x: string, "
            "l: list<element: struct<z: int64>>>",
        ),
    ],
)
def test_schemas_in_three_spellings(text: str, expected: str) -> None:
    other = Reference("other.json", '{"type": "object", "properties": {"z": {"type": "integer"}}}')
    assert str(json_type(text, [other])) == expected


@pytest.mark.parametrize(
    "text",
    ["a", "a NOPE", "a INT b INT", "a INT, A INT", "MAP<INT, INT>", "a DECIMAL(99,1)", "{", '{"$ref": "#"}', "a INT;"],
)
def test_a_schema_that_cannot_be_used_is_told(text: str) -> None:
    with pytest.raises(SchemaError):
        json_type(text)
