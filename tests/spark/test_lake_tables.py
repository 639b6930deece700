"""Iceberg and Delta tables keep every promise, with deaths at every call; readers of their own see the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tapelog.spark.lake import LakeError, compact
from tests.unit.spark.lake import conformance
from tests.unit.spark.lake.world import expected, keys, put, rows, table


@pytest.mark.parametrize("format", ["iceberg", "delta"])
@pytest.mark.parametrize("promise", conformance.EVERY)
def test_every_promise_is_kept(promise: Callable[[Path, str], None], format: str, tmp_path: Path) -> None:
    promise(tmp_path, format)


def test_an_iceberg_column_is_widened(tmp_path: Path) -> None:
    conformance.a_wider_type_widens_the_column(tmp_path, "iceberg")


def test_a_delta_column_that_would_have_to_be_widened_is_refused(tmp_path: Path) -> None:
    where = table(tmp_path, "delta")
    put(where, 0)
    with pytest.raises(LakeError, match="deltalake can add columns, not widen them"):
        put(where, 1, given=rows(1).set_column(1, "n", pa.array(range(12), pa.int64())))


def iceberg_rows(root: Path) -> Any:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{root}/catalog.db")
    return catalog.load_table("lake.iceberg").scan().to_arrow()


def delta_rows(root: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(root / "delta").to_pyarrow_table()


@pytest.mark.parametrize(("format", "read"), [("iceberg", iceberg_rows), ("delta", delta_rows)])
def test_readers_of_the_format_see_the_rows_before_and_after_a_compaction(
    format: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    where = table(tmp_path, format)
    put(where, 0)
    put(where, 1, given=rows(1, city=pa.array(["Ulm"] * 12)))
    before = sorted(read(tmp_path).to_pylist(), key=lambda row: row["n"])
    assert [row["key"] for row in before] == [f"k{n}" for n in range(24)]
    assert [row["city"] for row in before] == [None] * 12 + ["Ulm"] * 12
    assert compact(where).files_after == 3
    assert sorted(read(tmp_path).to_pylist(), key=lambda row: row["n"]) == before
    assert keys(where) == expected(2)


def test_an_iceberg_query_for_a_day_reads_only_its_files(tmp_path: Path) -> None:
    from pyiceberg.catalog import load_catalog

    put(table(tmp_path, "iceberg"), 0)
    found = load_catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db").load_table("lake.iceberg")
    planned = list(found.scan(row_filter="timestamp < '2026-11-17T00:00:00+00:00'").plan_files())
    assert len(planned) == 1


def test_the_marker_outlives_the_snapshots(tmp_path: Path) -> None:
    from tests.unit.spark.lake.world import opened

    where = table(tmp_path, "iceberg")
    put(where, 0)
    put(where, 1, app="another", name="another")
    opened(where).tidy(2**41)  # every snapshot but the last is expired
    assert put(where, 0).skipped


@pytest.mark.parametrize("format", ["iceberg", "delta"])
@pytest.mark.parametrize("micros", [253_402_300_800_000_000, -62_135_596_800_000_001])
def test_a_time_that_no_calendar_of_the_format_has_stops_the_batch_in_three_lines(
    format: str, micros: int, tmp_path: Path
) -> None:
    where = table(tmp_path, format)
    put(where, 0)
    times = pa.array([micros] * 12, pa.timestamp("us", "UTC"))
    with pytest.raises(LakeError, match=r"Batch 1 for .* has a time outside the years 1 to 9999") as raised:
        put(where, 1, given=rows(1).set_column(2, "timestamp", times))
    assert len(str(raised.value).splitlines()) == 3
    assert keys(where) == expected(1)
