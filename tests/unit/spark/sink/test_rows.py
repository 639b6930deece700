"""Spark's schema and rows as Arrow: what a PySpark of any version hands a writer."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pa = pytest.importorskip("pyarrow")

from pyspark.sql import Row  # noqa: E402
from pyspark.sql.types import (  # noqa: E402
    ArrayType,
    BinaryType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tapelog.spark.sink.rows import arrow_batches, arrow_schema  # noqa: E402

INSTANT = pa.timestamp("us", tz="UTC")
EVENT = StructType([StructField("at", TimestampType()), StructField("id", LongType())])
SCHEMA = StructType(
    [
        StructField("at", TimestampType()),
        StructField("local", TimestampNTZType()),
        StructField("event", EVENT),
        StructField("all", ArrayType(TimestampType())),
        StructField("by_name", MapType(StringType(), TimestampType())),
        StructField("data", BinaryType()),
    ]
)
SUMMER = datetime.datetime(2024, 7, 1, 14, 0, 0, 5)
"""What a row of PySpark says in Berlin for 12:00:00.000005 UTC."""
IN_UTC = datetime.datetime(2024, 7, 1, 12, 0, 0, 5, tzinfo=datetime.UTC)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine there: PySpark's rows tell instants in its zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_timestamps_are_instants_in_utc_wherever_they_lie() -> None:
    found = arrow_schema(SCHEMA)
    assert found.field("at").type == INSTANT
    assert found.field("local").type == pa.timestamp("us")
    assert found.field("event").type.field("at").type == INSTANT
    assert found.field("all").type.value_type == INSTANT
    assert found.field("by_name").type.item_type == INSTANT


def test_an_instant_in_a_row_is_told_in_the_zone_of_the_machine_and_stays_the_same_instant(berlin: None) -> None:
    row = Row(
        at=SUMMER,
        local=SUMMER,
        event=Row(at=SUMMER, id=1),
        all=[SUMMER, None],
        by_name={"a": SUMMER},
        data=bytearray(b"x"),
    )
    (batch,) = arrow_batches(iter([row, Row(*[None] * len(SCHEMA))]), SCHEMA)
    first, nulls = batch.to_pylist()
    assert first == {
        "at": IN_UTC,
        "local": SUMMER,
        "event": {"at": IN_UTC, "id": 1},
        "all": [IN_UTC, None],
        "by_name": [("a", IN_UTC)],
        "data": b"x",
    }
    assert set(nulls.values()) == {None}
