"""Rows into Parquet files, on executors: Arrow batches in, data files out. Nobody reads them before they are
committed.

Every file has rows of one partition only, a name that nobody else uses, and its attempt in the name. Files are closed
when they are large enough. What is held in memory is bounded: buffered rows are written as row groups, largest first.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapelog.spark.lake.far import without_far
from tapelog.spark.lake.schema import fitted
from tapelog.spark.lake.spec import Partitioning
from tapelog.spark.lake.store import Store, Upload
from tapelog.spark.lake.values import DATA, NULL_PARTITION, DataFile

LOG = logging.getLogger("tapelog.spark")

GROUP_BYTES: Final = 16 * 1024 * 1024
"""A row group is written when so much of a partition is buffered."""
BUFFERED_BYTES_MAX: Final = 96 * 1024 * 1024
"""All buffers of a task together."""
OPEN_MAX: Final = 64
"""Files that a task has open at once; the least recently used is closed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the files of one attempt look like."""

    schema: Any
    partition: Partitioning | None
    attempt: str
    file_bytes: int
    event: str = ""
    """The column whose least and largest values are kept for freshness; none: the partition's."""
    far_is_null: bool = False
    """Whether times outside the years 1 to 9999 become null."""


@dataclass(slots=True)
class _Open:
    path: str
    value: str | None
    upload: Upload
    writer: Any
    rows: int = 0
    waiting: list[Any] = field(default_factory=list)
    waiting_bytes: int = 0
    low: int | None = None
    high: int | None = None


def write_files(batches: Iterable[Any], layout: Layout, store: Store) -> Iterator[DataFile]:
    """Write all rows; yield each file once it is complete."""
    files = _Files(layout, store)
    far = 0
    for batch in batches:
        if batch.num_rows:
            rows = fitted(batch, layout.schema)
            if layout.far_is_null:
                rows, found = without_far(rows)
                far += found
            for value, part in split(rows, layout.partition):
                yield from files.add(value, part)
    if far:
        LOG.warning("%d rows had a time outside the years 1 to 9999, which is null now (on_far_timestamp).", far)
    yield from files.close()


def split(batch: Any, partition: Partitioning | None) -> Iterator[tuple[str | None, Any]]:
    """A batch by the values of its partition, in the order of first appearance."""
    if partition is None:
        yield None, batch
        return
    times = batch.column(partition.column)
    if pa.types.is_date(times.type):
        times = times.cast(pa.timestamp("us"))
    floors = pc.floor_temporal(times, unit=partition.every).cast(pa.int64())
    values = pc.unique(floors)
    for value in values:
        text = partition_text(value.as_py(), partition)
        if len(values) == 1:
            yield text, batch
        else:
            mask = pc.equal(floors, value) if value.is_valid else pc.is_null(floors)
            yield text, batch.filter(mask)


def partition_text(micros: int | None, partition: Partitioning) -> str | None:
    """2026-11-16 or 2026-11-16-19 (UTC); None where the event time is null."""
    if micros is None:
        return None
    at = pa.scalar(micros, pa.timestamp("us"))
    return str(pc.strftime(at, format="%Y-%m-%d" if partition.every == "day" else "%Y-%m-%d-%H").as_py())


class _Files:
    """The open files of a task."""

    def __init__(self, layout: Layout, store: Store) -> None:
        self._layout = layout
        self._store = store
        self._open: dict[str | None, _Open] = {}
        self._buffered = 0
        event = layout.event or (layout.partition.column if layout.partition else "")
        self._event = event if event and layout.schema.get_field_index(event) >= 0 else ""

    def add(self, value: str | None, rows: Any) -> Iterator[DataFile]:
        file = self._open.pop(value, None) or self._begin(value)
        self._open[value] = file  # most recently used comes last
        file.waiting.append(rows)
        size = rows.nbytes
        file.waiting_bytes += size
        self._buffered += size
        if self._event:
            _note_times(file, rows.column(self._event))
        if file.waiting_bytes >= GROUP_BYTES:
            self._write_group(file)
        while self._buffered > BUFFERED_BYTES_MAX:
            self._write_group(max(self._open.values(), key=lambda each: each.waiting_bytes))
        if file.upload.bytes + file.waiting_bytes // 2 >= self._layout.file_bytes:
            yield self._end(self._open.pop(value))
        if len(self._open) > OPEN_MAX:
            yield self._end(self._open.pop(next(iter(self._open))))

    def close(self) -> Iterator[DataFile]:
        while self._open:
            yield self._end(self._open.pop(next(iter(self._open))))

    def _begin(self, value: str | None) -> _Open:
        path = f"{directory(self._layout.partition, value)}/{self._layout.attempt}-{uuid.uuid4().hex[:16]}.parquet"
        upload = self._store.writer(path)
        writer = pq.ParquetWriter(upload, self._layout.schema, compression="zstd", store_schema=False)
        return _Open(path, value, upload, writer)

    def _write_group(self, file: _Open) -> None:
        if file.waiting:
            table = pa.Table.from_batches(file.waiting, self._layout.schema)
            file.writer.write_table(table, row_group_size=max(table.num_rows, 1))
            file.rows += table.num_rows
        self._buffered -= file.waiting_bytes
        file.waiting, file.waiting_bytes = [], 0

    def _end(self, file: _Open) -> DataFile:
        self._write_group(file)
        file.writer.close()
        file.upload.close()
        return DataFile(file.path, file.value, file.rows, file.upload.bytes, file.low, file.high)


def directory(partition: Partitioning | None, value: str | None) -> str:
    """Where files of a partition lie: data/timestamp_day=2026-11-16."""
    return DATA if partition is None else f"{DATA}/{partition.name}={NULL_PARTITION if value is None else value}"


def _note_times(file: _Open, times: Any) -> None:
    found = pc.min_max(times)
    low, high = found["min"], found["max"]
    if not low.is_valid:
        return
    if pa.types.is_date(times.type):
        low, high = low.cast(pa.timestamp("us")), high.cast(pa.timestamp("us"))
    if not pa.types.is_timestamp(low.type):
        return
    low_us, high_us = low.cast(pa.int64()).as_py(), high.cast(pa.int64()).as_py()
    file.low = low_us if file.low is None else min(file.low, low_us)
    file.high = high_us if file.high is None else max(file.high, high_us)
