"""JSON by valueFormat beside Spark's own from_json, over a table of documents."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pa = pytest.importorskip("pyarrow")

from tapelog.spark.formats.json.decoder import json_decoder  # noqa: E402

SCHEMA = (
    "dec DECIMAL(10,2), small DECIMAL(3,2), big DECIMAL(38,10), n BIGINT, x DOUBLE, s STRING, b BOOLEAN, day DATE, "
    "i STRUCT<d: DECIMAL(5,1)>, l ARRAY<DECIMAL(4,1)>"
)
DECIMALS = (
    '{"dec":12.345}', '{"dec":-12.345}', '{"dec":12.355}', '{"dec":0.005}', '{"dec":-0.005}', '{"dec":"12.345"}',
    '{"dec":null}', '{"dec":1e3}', '{"dec":"1e3"}', '{"dec":7}', '{"dec":99999999.994}', '{"dec":-0.0}',
    '{"dec":0e400}', '{"dec":12.345000000000000000000000000000000000000000000001}',
    '{"dec":0.00499999999999999999999999999999999999999999999999}',
    '{"big":12345678901234567.12345}', '{"big":0.12345678905}', '{"big":1234567890123456789012345678.12345678905}',
    '{"big":"-1234567890123456789012345678.12345678905"}', '{"i":{"d":1.25}}', '{"l":[1.25,-1.25,null]}',
)  # fmt: skip
OTHERS = (
    "null", " null ", "{}", '{"i":null}', '{"n":7,"x":0.1,"s":"ö","b":true,"day":"2026-01-02"}', '{"x":3}', '{"x":NaN}',
    '{"s":1.50}', '{"s":{"a":1.50}}', '{"s":[1,null]}', '{"N":5}', '{"n":1,"n":2}', '{"more":[{}]}',
)  # fmt: skip
CORRUPT = (
    '{"small":9.995}', '{"small":-9.995}', '{"small":123}', '{"dec":99999999.995}', '{"dec":1e400}', '{"dec":true}',
    '{"dec":"NaN"}', '{"dec":NaN}', '{"dec":""}', '{"dec":" 1"}', '{"dec":"1_0"}', '{"dec":"x"}', '{"dec":+5}',
    '{"dec":.5}', '{"n":"7"}', '{"n":1.0}', '{"n":9999999999999999999}', '{"x":"1.5"}', '{"b":"true"}', '{"n":007}',
    '{"n":1,}', '{"n":1', "[]", "1", '"x"',
)  # fmt: skip
"""from_json takes these for corrupt as well: it makes one field null, and shows them in its column for such records."""
STRICTER = (
    "", " ", "{'n':1}", '{"n":1}x', '{"n":1} {"n":2}', '{"x":"NaN"}', '{"s":"\\ud800"}',
    '{"day":"2026-01-02T00:00:00"}',
)  # fmt: skip
"""from_json takes these without a word, docs/guide/spark.md says so."""


def by_spark(spark: Any, documents: tuple[str, ...]) -> list[tuple[Any, bool]]:
    """What from_json makes of each, and whether it calls it corrupt."""
    frame = spark.createDataFrame(list(enumerate(documents)), "i int, d string")
    options = "map('columnNameOfCorruptRecord', '_c')"
    rows = frame.selectExpr(
        "i", f"from_json(d, '{SCHEMA}') as v", f"from_json(d, '{SCHEMA}, _c STRING', {options})._c as c"
    )
    return [(plain(row.v), row.c is not None) for row in rows.orderBy("i").collect()]


def by_us(document: str) -> tuple[Any, bool]:
    """What we make of it, among others, and whether it is corrupt."""
    array, bad = json_decoder(SCHEMA).decode(pa.array([b"{}", document.encode()], pa.binary()))
    return array.to_pylist()[1], 1 in bad


def plain(value: Any) -> Any:
    """Rows as dicts."""
    if hasattr(value, "asDict"):
        return {name: plain(one) for name, one in value.asDict().items()}
    return value


def test_what_from_json_reads_is_read_alike(spark: Any) -> None:
    for document, (wanted, _) in zip(DECIMALS + OTHERS, by_spark(spark, DECIMALS + OTHERS), strict=True):
        found, corrupt = by_us(document)
        assert (document, repr(found), corrupt) == (document, repr(wanted), False)


def test_what_is_corrupt_to_from_json_is_corrupt_to_us(spark: Any) -> None:
    for document, (_, corrupt) in zip(CORRUPT, by_spark(spark, CORRUPT), strict=True):
        assert (document, corrupt, by_us(document)) == (document, True, (None, True))


def test_what_is_not_utf_8_is_corrupt_to_us_only(spark: Any) -> None:
    document = b'{"s":"\xff"}'
    text = f"cast(unhex('{document.hex()}') as string)"
    assert spark.sql(f"select from_json({text}, 's STRING').s as s").first().s == "\ufffd"
    array, bad = json_decoder("s STRING").decode(pa.array([document], pa.binary()))
    assert array.to_pylist() == [None] and 0 in bad


def test_where_we_are_stricter_is_known(spark: Any) -> None:
    for document, (_, corrupt) in zip(STRICTER, by_spark(spark, STRICTER), strict=True):
        assert (document, corrupt, by_us(document)) == (document, False, (None, True))
