"""Times outside the years 1 to 9999: what becomes null, and that nothing else does."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tapelog.spark import lake
from tapelog.spark.lake.far import without_far
from tests.unit.spark.lake.world import expected, keys, opened, put, rows, table

FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
FAR = [253_402_300_800_000_000, -62_135_596_800_000_001, 2**63 - 1, -(2**63)]
INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")


@pytest.mark.parametrize("kind", [INSTANT, LOCAL])
def test_only_times_outside_the_years_1_to_9999_become_null(kind: Any) -> None:
    near = pa.array([FIRST, LAST, None, datetime(2026, 11, 19, tzinfo=UTC)], INSTANT).cast(kind)
    batch = pa.record_batch({"at": pa.concat_arrays([near, pa.array(FAR, kind)]), "n": pa.array(range(8))})
    found, count = without_far(batch)
    assert found.column("at").to_pylist() == near.to_pylist() + [None] * 4
    assert (found.column("n"), count) == (batch.column("n"), 4)
    assert found.schema == batch.schema


def test_a_batch_without_such_times_is_not_copied() -> None:
    batch = pa.record_batch({"at": pa.array([FIRST, LAST, None], INSTANT), "none": pa.nulls(3, LOCAL)})
    assert without_far(batch) == (batch, 0)
    assert without_far(batch)[0] is batch


def test_dates_and_nested_times_count_as_well() -> None:
    far, near = FAR[0], 1_000_000
    kind = pa.struct(
        [
            ("at", INSTANT),
            ("all", pa.list_(pa.field("element", LOCAL))),
            ("by_name", pa.map_(pa.string(), INSTANT)),
            ("x", pa.float64()),
        ]
    )
    plain = [
        {"at": far, "all": [near, far, None], "by_name": [("a", far), ("b", near)], "x": float("nan")},
        {"at": near, "all": None, "by_name": [], "x": 0.5},
        None,
    ]
    batch = pa.record_batch({"v": pa.array(plain, kind), "day": pa.array([0, 10**7, -(10**6)], pa.date32())})
    found, count = without_far(batch)
    then = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    first, second, third = found.column("v").to_pylist()
    assert (first["at"], first["all"]) == (None, [then.replace(tzinfo=None), None, None])
    assert first["by_name"] == [("a", None), ("b", then)]
    assert (second, third) == ({"at": then, "all": None, "by_name": [], "x": 0.5}, None)
    assert found.column("day").to_pylist() == [date(1970, 1, 1), None, None]
    assert count == 3 and found.schema == batch.schema
    sliced, count = without_far(batch.slice(1, 2))
    assert sliced.column("v").to_pylist() == [second, None] and count == 2


@pytest.mark.parametrize("format", ["iceberg", "delta", "parquet"])
@pytest.mark.parametrize("partition", ["day(timestamp)", ""])
@pytest.mark.parametrize("micros", FAR)
def test_a_far_time_does_not_stop_a_table_that_was_told_so(
    tmp_path: Path, format: str, partition: str, micros: int, caplog: Any
) -> None:
    where = table(tmp_path, format, partition=partition, on_far_timestamp="null")
    times = rows(0)["timestamp"].combine_chunks().cast(pa.int64()).to_pylist()
    times[3] = micros
    given = rows(0).set_column(2, "timestamp", pa.array(times, INSTANT))
    with caplog.at_level(logging.WARNING, "tapelog.spark"):
        assert put(where, 0, given=given).rows == 12
    assert "1 rows had a time outside the years" in caplog.text
    put(where, 1)
    lake.compact(where)
    assert keys(where) == expected(2)
    newest = lake.freshness(where).event_lag_s  # Delta tells it of partitions only
    assert abs(newest or 0) < 10**9 and (newest is not None or (format, partition) == ("delta", ""))


@pytest.mark.parametrize("format", ["iceberg", "delta", "parquet"])
def test_the_last_moment_that_calendars_have_is_not_far(tmp_path: Path, format: str) -> None:
    where = table(tmp_path, format)
    given = rows(0).set_column(2, "timestamp", pa.array([LAST, FIRST] * 6, INSTANT))
    assert put(where, 0, given=given).rows == 12
    assert len(opened(where).files()) == 2


def test_options_tell_it_too() -> None:
    found = lake.from_options({"path": "/lake/orders", "onFarTimestamp": "null"})
    assert found == lake.table("/lake/orders", on_far_timestamp="null")
    assert lake.table("/lake/orders").on_far_timestamp == "fail"
    with pytest.raises(lake.LakeError, match="on_far_timestamp 'drop' is none of fail, null"):
        lake.from_options({"path": "/lake/orders", "onFarTimestamp": "drop"})
