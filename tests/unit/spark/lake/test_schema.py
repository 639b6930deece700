"""Schemas: Spark's into Arrow's, and how a table follows its rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.schema import evolve, fitted, from_spark, plain, widens


def struct(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"type": "struct", "fields": fields}


def test_sparks_types_become_arrows() -> None:
    found = from_spark(
        struct(
            a="string",
            b="short",
            c="timestamp",
            d="timestamp_ntz",
            e="decimal(10,2)",
            f=struct(x="long"),
            g={"type": "array", "elementType": "binary", "containsNull": True},
            h={"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True},
            i="varchar(3)",
        )
    )
    assert [str(field.type) for field in found] == [
        "string",
        "int32",
        "timestamp[us, tz=UTC]",
        "timestamp[us]",
        "decimal128(10, 2)",
        "struct<x: int64>",
        "list<element: binary>",
        "map<string, double>",
        "string",
    ]
    assert plain(found) == found


def test_a_type_that_no_lake_has_is_named_with_its_column() -> None:
    with pytest.raises(LakeError, match=r"Column a\.b has the type variant"):
        from_spark(struct(a=struct(b="variant")))


def test_new_columns_come_last_also_inside_structs() -> None:
    table = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.string())]))])
    rows = pa.schema([("b", pa.string()), ("s", pa.struct([("y", pa.int64()), ("x", pa.string())]))])
    change = evolve(table, rows, "t")
    assert change.added == ("s.y", "b")
    assert change.schema.names == ["a", "s", "b"]
    assert change.schema.field("s").type == pa.struct([("x", pa.string()), ("y", pa.int64())])


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.float32(), pa.float64(), True),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), True),
        (pa.decimal128(5, 2), pa.decimal128(9, 3), False),
        (pa.int32(), pa.float64(), False),
        (pa.int64(), pa.string(), False),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
    ],
)
def test_only_what_keeps_every_value_widens(old: Any, new: Any, allowed: bool) -> None:
    assert widens(old, new) is allowed
    if allowed:
        assert evolve(pa.schema([("a", old)]), pa.schema([("a", new)]), "t").widened == ("a",)
    elif not widens(new, old):
        with pytest.raises(LakeError, match="nothing was written"):
            evolve(pa.schema([("a", old)]), pa.schema([("a", new)]), "t")


def test_narrower_rows_leave_the_table_as_it_is() -> None:
    assert not evolve(pa.schema([("a", pa.int64())]), pa.schema([("a", pa.int32())]), "t").changed


def test_columns_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(LakeError, match="differ in upper and lower case only"):
        evolve(pa.schema([("City", pa.string())]), pa.schema([("city", pa.string())]), "t")


def test_rows_are_fitted_to_the_table() -> None:
    wanted = pa.schema(
        [("s", pa.struct([("x", pa.int64()), ("y", pa.string())])), ("n", pa.int64()), ("new", pa.string())]
    )
    batch = pa.record_batch(
        {"n": pa.array([1, None], pa.int32()), "s": pa.array([{"x": 7}, None], pa.struct([("x", pa.int32())]))}
    )
    found = fitted(batch, wanted)
    assert found.schema == wanted
    assert found.to_pylist() == [{"s": {"x": 7, "y": None}, "n": 1, "new": None}, {"s": None, "n": None, "new": None}]
