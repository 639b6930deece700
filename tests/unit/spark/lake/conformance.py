"""What every format promises. The tests of each format call these."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tapelog.spark.lake import LakeError, compact, freshness, tidy
from tapelog.spark.lake.errors import ConflictError
from tapelog.spark.lake.run import Sink
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.values import Commit
from tests.unit.spark.lake.world import (
    APP,
    Died,
    by_arrow,
    compactor,
    dies_at,
    driver,
    expected,
    keys,
    left_over,
    never,
    opened,
    put,
    rows,
    table,
)


def a_replayed_batch_is_skipped(root: Path, format: str) -> None:
    where = table(root, format)
    assert put(where, 0).rows == 12
    again = put(where, 0)
    assert again.skipped and again.rows == 0
    assert not put(where, 1).skipped
    assert put(where, 0).skipped
    assert keys(where) == expected(2)
    assert left_over(where) == []


def a_driver_that_dies_at_any_call_leaves_each_row_once(root: Path, format: str) -> None:
    rehearsal = table(root / "rehearsal", format)
    put(rehearsal, 0)
    calls = driver(rehearsal, 1, never)
    assert {"append", "put", "listed", "delete", "writer"} <= set(calls)
    for number in range(1, len(calls) + 1):
        for after in (False, True):
            where = table(root / f"{number}-{after}", format)
            put(where, 0)
            with pytest.raises(Died):
                driver(where, 1, dies_at(number, after))
            put(where, 1)
            assert keys(where) == expected(2), (number, after, calls[number - 1])
            assert left_over(where) == [], (number, after, calls[number - 1])


def a_compaction_that_dies_at_any_call_leaves_each_row_once(root: Path, format: str) -> None:
    rehearsal = table(root / "rehearsal", format)
    for batch in range(3):
        put(rehearsal, batch)
    before = len(opened(rehearsal).files())
    calls = compactor(rehearsal, never)
    assert "replace" in calls
    assert len(opened(rehearsal).files()) == 3 < before
    assert keys(rehearsal) == expected(3)
    for number in range(1, len(calls) + 1):
        for after in (False, True):
            where = table(root / f"{number}-{after}", format)
            for batch in range(3):
                put(where, batch)
            with pytest.raises(Died):
                compactor(where, dies_at(number, after))
            assert keys(where) == expected(3), (number, after, calls[number - 1])


def of_two_drivers_with_one_batch_one_wins(root: Path, format: str) -> None:
    """The second begins, and the first, which was thought dead, commits before it does."""
    where = table(root, format)
    put(where, 0)
    store = Store(where)
    given = rows(1)

    def overtaken(layout: object) -> object:
        assert not put(where, 1).skipped
        return by_arrow(store, given)(layout)  # type: ignore[arg-type]

    result = Sink(where, name="orders").write(APP, 1, given.schema, overtaken)  # type: ignore[arg-type]
    assert result.skipped
    assert keys(where) == expected(2)
    assert left_over(where) == []


def a_commit_after_somebody_elses_is_refused(root: Path, format: str) -> None:
    """Compare-and-set, without which a marker that was read is worth nothing."""
    where = table(root, format)
    put(where, 0)
    late = opened(where)
    put(where, 1)
    with pytest.raises(ConflictError):
        late.append(Commit(APP, 1, "late", "orders", tuple(late.files()), 0))
    assert keys(where) == expected(2)


def rows_that_come_during_a_compaction_stay(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    put(where, 1)
    arrived = []

    def meanwhile(number: int, after: bool) -> None:
        if after and not arrived:
            arrived.append(put(where, 2))

    compactor(where, meanwhile)
    assert keys(where) == expected(3)
    assert len(opened(where).files()) < 9


def of_two_compactions_at_once_one_gives_up(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    put(where, 1)
    began = []

    def meanwhile(number: int, after: bool) -> None:
        if after and not began:
            began.append(compact(where))

    compactor(where, meanwhile)
    assert keys(where) == expected(2)
    assert len(left_over(where)) == 6  # the old files, for readers that are still at them


def new_columns_are_added_and_missing_ones_null(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    put(where, 1, given=rows(1, city=pa.array(["Ulm"] * 12)))
    put(where, 2)
    schema = opened(where).schema()
    assert schema is not None
    assert schema.names == ["key", "n", "timestamp", "city"]
    assert keys(where) == expected(3)
    compact(where)
    assert keys(where) == expected(3)


def a_wider_type_widens_the_column(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    put(where, 1, given=rows(1).set_column(1, "n", pa.array(range(12), pa.int64())))
    put(where, 2)
    schema = opened(where).schema()
    assert schema is not None
    assert schema.field("n").type == pa.int64()
    assert keys(where) == expected(3)
    compact(where)
    assert keys(where) == expected(3)


def another_type_stops_with_three_lines_and_writes_nothing(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    with pytest.raises(LakeError, match=r"Column n of .* is int32, and the rows have string") as caught:
        put(where, 1, given=rows(1).set_column(1, "n", pa.array(["x"] * 12)))
    assert len(str(caught.value).splitlines()) <= 3
    assert keys(where) == expected(1)
    assert left_over(where) == []


def another_checkpoint_stops_unless_it_takes_over(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    with pytest.raises(LakeError, match="another checkpoint") as caught:
        put(where, 0, app="another-query")
    assert len(str(caught.value).splitlines()) <= 3
    assert put(where, 1, app="another-query", name="more").rows == 12
    given = rows(2)
    sink = Sink(where, name="orders")
    assert sink.write("another-query", 2, given.schema, by_arrow(Store(where), given), restart=True).rows == 12
    assert keys(where) == expected(3)


def freshness_tells_event_and_commit_lag(root: Path, format: str) -> None:
    where = table(root, format)
    with pytest.raises(LakeError, match="There is no"):
        freshness(where)
    put(where, 0)
    youngest = max(time for time in rows(0)["timestamp"].to_pylist() if time)
    now_ms = int(youngest.timestamp() * 1000) + 90_000
    found = freshness(where, now_ms=now_ms)
    assert found.event_lag_s == 90
    assert found.commit_lag_s is not None and abs(found.commit_lag_s - now_ms / 1000) < 10**10
    assert (found.rows, found.files) == (12, 3)


def tidying_removes_only_what_is_old_and_unneeded(root: Path, format: str) -> None:
    where = table(root, format)
    put(where, 0)
    put(where, 1)
    compact(where)
    assert tidy(where, keep_hours=24) == 0
    assert len(left_over(where)) == 6
    with pytest.raises(LakeError, match="too short"):
        tidy(where, keep_hours=0)
    opened(where).tidy(2**41)  # long after now: everything is old
    assert keys(where) == expected(2)
    put(where, 2)
    assert keys(where) == expected(3)


EVERY = [
    a_replayed_batch_is_skipped,
    a_driver_that_dies_at_any_call_leaves_each_row_once,
    a_compaction_that_dies_at_any_call_leaves_each_row_once,
    of_two_drivers_with_one_batch_one_wins,
    a_commit_after_somebody_elses_is_refused,
    rows_that_come_during_a_compaction_stay,
    of_two_compactions_at_once_one_gives_up,
    new_columns_are_added_and_missing_ones_null,
    another_type_stops_with_three_lines_and_writes_nothing,
    another_checkpoint_stops_unless_it_takes_over,
    freshness_tells_event_and_commit_lag,
    tidying_removes_only_what_is_old_and_unneeded,
]
"""Those that all three formats keep; Delta cannot widen."""
