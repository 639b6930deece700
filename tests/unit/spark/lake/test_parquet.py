"""Tables of plain Parquet files: every promise, with deaths at every call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tapelog.spark.lake.tables.state import CHECKPOINT_EVERY, LOG
from tests.unit.spark.lake import conformance
from tests.unit.spark.lake.world import expected, keys, opened, put, table


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


def test_a_table_of_another_partition_is_refused(tmp_path: Path) -> None:
    put(table(tmp_path, "parquet"), 0)
    with pytest.raises(Exception, match="is partitioned by timestamp_day, not by timestamp_hour"):
        opened(table(tmp_path, "parquet", partition="hour(timestamp)"))
