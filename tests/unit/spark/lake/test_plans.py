"""Plans of compactions, reads and replays: every row in one place, within bounds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.lake.compaction import plan_compaction
from tapelog.spark.lake.reading import Piece, chosen, tasks_of
from tapelog.spark.lake.replay_plan import CHUNK_ROWS_MIN, ReplayPlan, chunk_rows, cut, wait_s
from tapelog.spark.lake.values import DataFile

SIZES = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 200), st.integers(1, 50)), max_size=30)


def files_of(sizes: list[tuple[int, int, int]]) -> list[DataFile]:
    return [
        DataFile(f"f{at}", None if day == 0 else f"2026-11-{day:02d}", rows, size, at)
        for at, (day, size, rows) in enumerate(sizes)
    ]


@settings(deadline=None)
@given(SIZES)
def test_a_compaction_takes_each_small_file_once_and_never_mixes_partitions(
    sizes: list[tuple[int, int, int]],
) -> None:
    files = files_of(sizes)
    bins = plan_compaction(files, 100)
    taken = [file.path for each in bins for file in each.files]
    assert len(taken) == len(set(taken))
    for each in bins:
        assert len(each.files) >= 2
        assert {file.partition for file in each.files} == {each.partition}
        assert sum(file.bytes for file in each.files) <= 100
        assert all(file.bytes < 75 for file in each.files)


def test_files_that_are_large_enough_are_left_alone() -> None:
    files = files_of([(1, 80, 1), (1, 90, 1), (1, 10, 1)])
    assert plan_compaction(files, 100) == []
    assert plan_compaction(files_of([(1, 10, 1)] * 3), 100, files_min=4) == []


@settings(deadline=None)
@given(SIZES, st.integers(1, 70), st.integers(1, 4))
def test_a_replay_sends_every_row_once_in_order_in_bounded_chunks(
    sizes: list[tuple[int, int, int]], rows_max: int, tasks: int
) -> None:
    files = files_of(sizes)
    cuts = cut(files, rows_max, tasks)
    sent: list[tuple[str, int]] = []
    for chunk, rows in cuts:
        assert len(chunk) == tasks
        found = [(piece.path, row) for task in chunk for piece in task for row in range(piece.first, piece.until)]
        assert len(found) == rows <= rows_max
        sent += found
    assert sent == [(file.path, row) for file in files for row in range(file.rows)]


def test_a_plan_is_kept_and_read_back() -> None:
    cuts = cut(files_of([(1, 10, 25), (2, 10, 5)]), 10, 2)
    plan = ReplayPlan("app", "file:///x", "schema", tuple(chunk for chunk, _ in cuts), tuple(rows for _, rows in cuts))
    assert ReplayPlan.from_json(plan.to_json()) == plan


def test_a_rate_bounds_chunks_and_waits_between_them() -> None:
    assert chunk_rows(1000) == 5000
    assert chunk_rows(1) == CHUNK_ROWS_MIN
    assert wait_s(500, 10.0, 10.2, 1000) == 10.5 - 10.2
    assert wait_s(500, 10.0, 12.0, 1000) == 0
    assert wait_s(500, 10.0, 10.0, None) == 0


def test_partitions_are_chosen_by_value_and_read_in_order() -> None:
    files = files_of([(3, 1, 1), (1, 1, 1), (0, 1, 1), (2, 1, 1)])
    assert [file.path for file in chosen(files, "", "")] == ["f2", "f1", "f3", "f0"]
    assert [file.path for file in chosen(files, "2026-11-01", "2026-11-03")] == ["f1", "f3"]


@settings(deadline=None)
@given(SIZES)
def test_tasks_of_a_read_have_every_file_once(sizes: list[tuple[int, int, int]]) -> None:
    files = files_of(sizes)
    read = Counter(piece for task in tasks_of(files) for piece in task)
    assert read == Counter(Piece(file.path) for file in files)
