"""Tables of plain Parquet files: every promise, with deaths at every call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapelog.spark import lake
from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.run import Sink
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables.state import CHECKPOINT_EVERY, LOG
from tests.unit.spark.lake import conformance
from tests.unit.spark.lake.world import APP, by_arrow, expected, keys, opened, put, rows, table


@pytest.mark.parametrize("promise", [*conformance.EVERY, conformance.a_wider_type_widens_the_column])
def test_every_promise_is_kept(promise: Callable[[Path, str], None], tmp_path: Path) -> None:
    promise(tmp_path, "parquet")


def test_a_table_with_many_batches_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    where = table(tmp_path, "parquet")
    for batch in range(CHECKPOINT_EVERY + 2):
        put(where, batch)
    log = tmp_path / "parquet" / LOG
    assert [path.name for path in log.glob("*.checkpoint.json")]
    (log / f"{0:020d}.json").unlink()  # what a tidy removes
    assert keys(where) == expected(CHECKPOINT_EVERY + 2)
    assert put(where, CHECKPOINT_EVERY + 1).skipped


def test_a_stream_on_an_older_checkpoint_stops_rather_than_skips_what_its_batch_has_now(tmp_path: Path) -> None:
    where = table(tmp_path, "parquet")
    for batch in range(3):
        put(where, batch)
    sink, given = Sink(where, name="orders"), rows(9)
    with pytest.raises(LakeError, match="Batch 1 of 'orders' comes after batch 2") as raised:
        sink.write(APP, 1, given.schema, by_arrow(Store(where), given), in_order=True)
    assert len(str(raised.value).splitlines()) == 3
    assert sink.write(APP, 2, rows(2).schema, by_arrow(Store(where), rows(2)), in_order=True).skipped
    assert not sink.write(APP, 3, rows(3).schema, by_arrow(Store(where), rows(3)), in_order=True).skipped
    assert put(where, 1).skipped  # a batch write by version says so itself
    assert keys(where) == expected(4)


def test_a_table_of_another_partition_is_refused(tmp_path: Path) -> None:
    put(table(tmp_path, "parquet"), 0)
    with pytest.raises(Exception, match="is partitioned by timestamp_day, not by timestamp_hour"):
        opened(table(tmp_path, "parquet", partition="hour(timestamp)"))


def _aged(root: Path, hours: float) -> None:
    moment = time.time() - hours * 3600
    for path in root.rglob("*"):
        os.utime(path, (moment, moment))


def test_tidying_an_old_table_keeps_the_checkpoint_that_it_is_read_from(tmp_path: Path) -> None:
    where = table(tmp_path, "parquet")
    for batch in range(CHECKPOINT_EVERY + 2):
        put(where, batch)
    _aged(tmp_path, 5)
    lake.tidy(where, keep_hours=1)
    assert not (tmp_path / "parquet" / LOG / f"{0:020d}.json").exists()
    assert keys(where) == expected(CHECKPOINT_EVERY + 2)
    assert put(where, CHECKPOINT_EVERY + 1).skipped


def test_a_writer_that_was_idle_while_its_entries_were_tidied_away_commits_behind_the_newest(tmp_path: Path) -> None:
    where = table(tmp_path, "parquet")
    idle = opened(where)
    put(where, 0)
    idle.refresh()
    for batch in range(1, 2 * CHECKPOINT_EVERY):
        put(where, batch)
    _aged(tmp_path, 5)
    lake.tidy(where, keep_hours=1)
    sink = Sink(where, name="orders", lake=idle)
    last = 2 * CHECKPOINT_EVERY
    given = rows(last)
    done = sink.write(APP, last, given.schema, by_arrow(Store(where), given))
    assert not done.skipped
    assert keys(where) == expected(last + 1)
