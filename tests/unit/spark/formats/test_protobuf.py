"""Protobuf into columns: equal to what Google's own library wrote."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.protobuf.growing import protobuf_decoder
from tapelog.spark.formats.protobuf.parser import imports_of, parse_proto
from tapelog.spark.formats.trees import TreeDecoder
from tapelog.spark.plan.formats import Reference
from tapelog.spark.registry.client import Registered
from tests.unit.spark.formats.proto_oracle import classes

PROTO = """
// A comment with "quotes" and { braces.
syntax = "proto3";
package shop.v1;

import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
option java_package = "com.shop";

message Order {
  reserved 100 to 200, 300;
  reserved "gone";
  int32 i = 1;
  int64 l = 2 [deprecated = true, (custom.option) = { a: "]" }];
  uint32 ui = 3; uint64 ul = 4;
  sint32 si = 5; sint64 sl = 6;
  fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 s32 = 9; sfixed64 s64 = 10;
  float f = 11; double d = 12; bool b = 13;
  string s = 14; bytes y = 15;
  Status status = 16;
  optional int32 maybe = 17;
  optional string word = 18;
  repeated int64 packed = 19;
  repeated string words = 20;
  repeated Line lines = 21;
  map<string, int32> counts = 22;
  map<int32, Line> by_number = 23;
  oneof payment { string card = 24; Line other = 25; int64 cash = 26; }
  google.protobuf.Timestamp at = 27;
  google.protobuf.Duration took = 28;
  Line line = 29;
  repeated Status states = 30;
  int32 far = 5000;
  message Line {
    string sku = 1;
    /* nested
       deeper */
    message Price { sint64 cents = 1; Status state = 2; }
    Price price = 2;
    optional Order again = 3;
  }
}

enum Status {
  option allow_alias = true;
  UNKNOWN = 0;
  A_STATUS_WITH_A_LONG_NAME = 1;
  ALSO = 1;
  NEGATIVE = -1;
}

service Orders { rpc Get(Order) returns (Order) { option (x) = "y"; } }
"""
ORDER = classes(PROTO)["shop.v1.Order"]
LINE = classes(PROTO)["shop.v1.Order.Line"]


def decoder(text: str = PROTO, message: str | None = None, writers: dict[int, str] | None = None) -> TreeDecoder:
    known = {number: Registered(number, "protobuf", one) for number, one in (writers or {}).items()}
    return protobuf_decoder(text, (), message, None if writers is None else known.get)


def decode(made: TreeDecoder, *values: bytes | None) -> tuple[list[Any], dict[int, str]]:
    array, bad = made.decode(pa.array(list(values), pa.binary()))
    array.validate(full=True)
    return array.to_pylist(), bad


def test_the_types_are_those_that_spark_can_show() -> None:
    kind = decoder().kind
    shown = {field.name: str(field.type) for field in kind}
    assert (shown["i"], shown["ui"], shown["ul"], shown["f"]) == ("int32", "int64", "decimal128(20, 0)", "float")
    assert (shown["status"], shown["at"], shown["took"]) == ("string", "timestamp[us, tz=UTC]", "duration[us]")
    assert shown["counts"] == "map<string, int32>" and shown["packed"] == "list<element: int64>"
    line = "struct<sku: string, price: struct<cents: int64, state: string>, again: binary>"
    assert shown["line"] == line and shown["lines"] == f"list<element: {line}>", "what lies within itself stays bytes"


EXTREMES = {
    "i": -(2**31), "l": -(2**63), "ui": 2**32 - 1, "ul": 2**64 - 1, "si": -(2**31), "sl": 2**63 - 1,
    "f32": 2**32 - 1, "f64": 2**64 - 1, "s32": -1, "s64": -(2**63), "f": -0.5, "d": 1e300, "b": True,
    "s": "a text that is longer than a view", "y": b"\xff\0", "far": 7,
}  # fmt: skip


def test_every_type_is_read_as_google_wrote_it() -> None:
    order = ORDER(**EXTREMES, status=1, maybe=0, words=["x", ""], packed=[1, -1, 2**40], counts={"k": 3})
    order.lines.add(sku="a", price={"cents": -5, "state": -1})
    order.lines.add()
    order.by_number[3].sku = "in a map"
    order.cash = 5
    order.at.seconds, order.at.nanos = 1_700_000_000, 123_456_789
    order.took.seconds = -2
    order.line.again.i = 9
    order.states.extend([0, 1, 77])
    (row,), bad = decode(decoder(), order.SerializeToString())
    assert not bad
    assert {name: row[name] for name in EXTREMES} == EXTREMES
    assert (row["status"], row["maybe"], row["word"]) == ("A_STATUS_WITH_A_LONG_NAME", 0, None)
    assert (row["packed"], row["words"], row["counts"]) == ([1, -1, 2**40], ["x", ""], [("k", 3)])
    assert row["lines"] == [
        {"sku": "a", "price": {"cents": -5, "state": "NEGATIVE"}, "again": None},
        {"sku": "", "price": None, "again": None},
    ]
    assert row["by_number"][0][1]["sku"] == "in a map"
    assert (row["card"], row["other"], row["cash"]) == (None, None, 5)
    assert row["at"].timestamp() == pytest.approx(1_700_000_000.123456) and row["took"].total_seconds() == -2
    assert row["line"]["again"] == ORDER(i=9).SerializeToString()
    assert row["states"] == ["UNKNOWN", "A_STATUS_WITH_A_LONG_NAME", "77"]


def test_what_is_not_there_is_its_default_or_null() -> None:
    (row, none), bad = decode(decoder(), b"", None)
    assert not bad and none is None
    assert (row["i"], row["s"], row["b"], row["status"], row["ul"]) == (0, "", False, "UNKNOWN", Decimal(0))
    assert [row[name] for name in ("maybe", "word", "line", "at", "card")] == [None] * 5
    assert (row["packed"], row["counts"]) == ([], [])
    old = 'syntax = "proto2"; message M { optional int32 a = 1; required string b = 2; repeated int32 c = 3; }'
    assert decode(decoder(old), b"")[0] == [{"a": None, "b": None, "c": []}]


def test_the_last_of_several_counts_and_unknown_fields_are_passed_over() -> None:
    unknown = b"\xfa\x3f\x03abc" + b"\xf9\x3f" + bytes(8) + b"\xfb\x3f\x08\x01\xfc\x3f" + b"\xfd\x3f" + bytes(4)
    data = ORDER(i=1, s="first").SerializeToString() + unknown + ORDER(i=2, card="c").SerializeToString()
    data += ORDER(cash=3, packed=[4]).SerializeToString() + b"\x98\x01\x05" + b"\x0a\x01x"
    (row,), bad = decode(decoder(), data)
    assert not bad
    assert (row["i"], row["s"], row["card"], row["cash"], row["packed"]) == (2, "first", None, 3, [4, 5])


GOOD = ORDER(i=1, s="fine", packed=[1, 2], lines=[{"sku": "x"}]).SerializeToString()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (GOOD[:-1], "not fit"),
        (b"\x08", "cut short"),
        (b"\x72\x05ab", "not fit"),
        (b"\x72\x01\xff", "UTF-8"),
        (b"\x00", "no number"),
        (b"\x0f", "does not exist"),
        (b"\xfb\x3f" * 200, "deep"),
        (b"\x08" + b"\xff" * 10, "too long"),
        (b"\x9a\x01\x02\x80\x80", "cut short"),
        (b"\x5d\x00\x00", "cut short"),
        (ORDER(line={"sku": "a"}).SerializeToString() * 2, "twice"),
        (b"\xda\x01\x0b\x08" + b"\xff" * 8 + b"\x7f" + b"\x10", "out of range|cut short"),
    ],
)
def test_a_corrupt_record_spoils_no_other(data: bytes, reason: str) -> None:
    made = decoder()
    rows, bad = decode(made, GOOD, data, GOOD)
    assert rows[1] is None and rows[0] == rows[2] and rows[0]["lines"][0]["sku"] == "x"
    assert list(bad) == [1] and any(word in bad[1] for word in reason.split("|")), bad
    assert decode(made, GOOD) == ([rows[0]], {})


def framed(number: int, path: bytes, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + path + data


def test_the_message_is_told_by_its_indexes() -> None:
    made = decoder(message="shop.v1.Order.Line.Price", writers={7: PROTO})
    price = classes(PROTO)["shop.v1.Order.Line.Price"](cents=3).SerializeToString()
    rows, bad = decode(made, framed(7, b"\x06\x00\x00\x00", price), framed(7, b"\x00", GOOD), framed(7, b"\x7f", b""))
    assert rows == [{"cents": 3, "state": "UNKNOWN"}, None, None]
    assert "another message" in bad[1] and "indexes" in bad[2]
    assert decode(decoder(writers={7: PROTO}), framed(7, b"\x00", GOOD), framed(7, b"\x02\x00", GOOD))[1] == {}


def test_a_writers_schema_may_have_fields_that_ours_has_not_and_lack_others() -> None:
    ours = 'syntax = "proto3"; package p; message M { string new = 3; int64 n = 1; }'
    theirs = 'syntax = "proto3"; package p; message Other {} message M { int32 n = 1; string old = 2; }'
    written = classes(theirs)["p.M"](n=5, old="x").SerializeToString()
    assert decode(decoder(ours, writers={1: theirs}), framed(1, b"\x02\x02", written)) == ([{"new": "", "n": 5}], {})
    _, bad = decode(decoder(ours, writers={1: "message Q { optional int32 a = 1; }"}), framed(1, b"\x00", written))
    assert "no message p.M" in bad[0]


def test_imports_are_found_among_the_references() -> None:
    other = 'syntax = "proto3"; package a.b; message Inner { int32 x = 1; } enum E { Z = 0; }'
    text = 'syntax = "proto3"; package a; import "other.proto"; message M { b.Inner in = 1; .a.b.E e = 2; }'
    made = protobuf_decoder(text, [Reference("other.proto", other)], None, None)
    assert made.decode(pa.array([b"\x0a\x02\x08\x07"], pa.binary()))[0].to_pylist() == [{"in": {"x": 7}, "e": "Z"}]
    assert imports_of(PROTO) == ["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"]


LINES = st.builds(
    lambda sku, cents: {"sku": sku, "price": {"cents": cents}}, st.text(max_size=20), st.integers(-(2**63), 2**63 - 1)
)
ORDERS = st.fixed_dictionaries(
    {},
    optional={
        "i": st.integers(-(2**31), 2**31 - 1),
        "ul": st.integers(0, 2**64 - 1),
        "d": st.floats(allow_nan=False),
        "b": st.booleans(),
        "s": st.text(max_size=20),
        "y": st.binary(max_size=20),
        "maybe": st.integers(-(2**31), 2**31 - 1),
        "packed": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
        "words": st.lists(st.text(max_size=20), max_size=4),
        "lines": st.lists(LINES, max_size=3),
        "counts": st.dictionaries(st.text(max_size=5), st.integers(-5, 5), max_size=3),
        "states": st.lists(st.sampled_from([0, 1, -1]), max_size=3),
        "line": LINES,
    },
)


def plain(order: Any) -> dict[str, Any]:
    """A message as rows show it, as far as the strategy goes."""
    found = {name: getattr(order, name) for name in ("i", "ul", "d", "b", "s", "y")}
    found["maybe"] = order.maybe if order.HasField("maybe") else None
    found |= {"packed": list(order.packed), "words": list(order.words), "counts": dict(order.counts)}
    found["lines"] = [(one.sku, one.price.cents) for one in order.lines]
    found["line"] = (order.line.sku, order.line.price.cents) if order.HasField("line") else None
    return found


def shown(row: dict[str, Any]) -> dict[str, Any]:
    names = ("i", "ul", "d", "b", "s", "y", "maybe", "packed", "words")
    found = {name: row[name] for name in names} | {"counts": dict(row["counts"])}
    found["lines"] = [(one["sku"], one["price"]["cents"]) for one in row["lines"]]
    found["line"] = None if row["line"] is None else (row["line"]["sku"], row["line"]["price"]["cents"])
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(ORDERS, max_size=4), st.binary(max_size=20), st.integers(0, 50))
def test_any_message_is_read_as_it_was_written_whatever_lies_beside_it(
    orders: list[dict[str, Any]], noise: bytes, cut: int
) -> None:
    written = [ORDER(**one) for one in orders]
    data = [one.SerializeToString() for one in written]
    rows, bad = decode(MADE, *data)
    assert not bad and [shown(row) for row in rows] == [plain(one) for one in written]
    rows, bad = decode(MADE, noise, *data, data[0][:cut] if data else b"")
    assert [shown(row) for row in rows[1:-1]] == [plain(one) for one in written]


MADE = decoder()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no message"),
        ("message M { int32 a = 1; ", "ends too early"),
        ("message M {\n int32 a = 0; }", "line 2"),
        ("message M { Nope a = 1; }", "Nope"),
        ("message M { int32 a = 1; int32 b = 1; }", "twice"),
        ("message M { repeated group G = 1 { } }", "expected"),
        ("enum E { }  message M { E e = 1; }", "no values"),
        ("message M { map<double, int32> m = 1; }", "keys"),
        ("what is this", "line 1"),
        ("\x01", "line 1"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        decoder(text)
    with pytest.raises(SchemaError, match="no message Q"):
        decoder(PROTO, "Q")


def test_words_of_the_language_may_be_names_of_fields() -> None:
    file = parse_proto('syntax = "proto3"; message M { string message = 1; bool optional = 2; int32 map = 3; }')
    assert [(one.name, one.type) for one in file.messages[0].fields] == [
        ("message", "string"),
        ("optional", "bool"),
        ("map", "int32"),
    ]
