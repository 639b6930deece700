"""Files of rows: one partition each, of bounded size, complete when they are told of."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapelog.spark import lake
from tapelog.spark.lake import write
from tapelog.spark.lake.spec import Partitioning
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.write import Layout, split, write_files


def written(root: Path, batches: list[Any], **more: Any) -> tuple[list[Any], Store]:
    store = Store(lake.table(f"file://{root}/t", format="parquet"))
    given: dict[str, Any] = {"partition": None, "file_bytes": 1 << 30, **more}
    return list(write_files(batches, Layout(batches[0].schema, attempt="a", **given), store)), store


@pytest.mark.parametrize(
    ("at", "every", "value"),
    [
        (datetime(2026, 11, 16, 23, 59, 59, 999999, tzinfo=UTC), "day", "2026-11-16"),
        (datetime(2026, 11, 16, 23, 59, 59, 999999, tzinfo=UTC), "hour", "2026-11-16-23"),
        (datetime(1969, 12, 31, 23, 30, tzinfo=UTC), "hour", "1969-12-31-23"),
        (date(2026, 2, 28), "day", "2026-02-28"),
        (None, "day", None),
    ],
)
def test_rows_are_parted_by_day_or_hour_in_utc(at: Any, every: Any, value: str | None) -> None:
    kind = pa.date32() if isinstance(at, date) and not isinstance(at, datetime) else pa.timestamp("us", "UTC")
    batch = pa.record_batch({"at": pa.array([at], kind)})
    assert [found for found, _ in split(batch, Partitioning("at", every))] == [value]


def test_a_file_is_closed_when_it_is_large_enough(tmp_path: Path) -> None:
    batches = [
        pa.record_batch({"v": [f"{number:x}" * 50 for number in range(first, first + 500)]}) for first in range(8)
    ]
    files, store = written(tmp_path, batches, file_bytes=70_000)
    assert len(files) > 1
    assert sum(file.rows for file in files) == 4_000
    for file in files:
        assert pq.ParquetFile(store.reader(file.path)).metadata.num_rows == file.rows
        assert (tmp_path / "t" / file.path).stat().st_size == file.bytes


def test_a_task_has_few_files_open_and_little_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "OPEN_MAX", 3)
    monkeypatch.setattr(write, "BUFFERED_BYTES_MAX", 200)
    times = pa.array([datetime(2026, 11, 1 + day % 7, tzinfo=UTC) for day in range(70)], pa.timestamp("us", "UTC"))
    batches = [pa.record_batch({"at": times, "v": pa.array(range(70))})] * 2
    files, _ = written(tmp_path, batches, partition=Partitioning("at", "day"))
    assert sum(file.rows for file in files) == 140
    assert len({file.partition for file in files}) == 7 < len(files)


def test_files_tell_their_event_times(tmp_path: Path) -> None:
    times = pa.array(
        [datetime(2026, 11, 16, hour, tzinfo=UTC) for hour in (5, 3, 4)] + [None], pa.timestamp("us", "UTC")
    )
    files, _ = written(tmp_path, [pa.record_batch({"at": times})], event="at")
    assert [(file.event_min_us, file.event_max_us) for file in files] == [(1794798000000000, 1794805200000000)]


def test_a_file_that_nobody_closed_has_no_name_and_is_removed_by_age(tmp_path: Path) -> None:
    store = Store(lake.table(f"file://{tmp_path}/t", format="parquet"))
    upload = store.writer("data/x.parquet")
    upload.write(b"x" * (9 << 20))  # more than a part: it is on disk under another name
    assert list(store.listed("data")) == []
    del upload
    assert store.unfinished(3600) == 0
    assert store.unfinished(0) <= 1
    assert not [path for path in (tmp_path / "t").rglob("*") if path.is_file()]
