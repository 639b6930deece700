"""Which tasks a batch gets: by what is there now, or, where it may be read again, by the offsets alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tapelog.spark.plan import ReadOptions, read_options
from tapelog.spark.plan.tasks import Task
from tapelog.spark.plan.values import Plan, Range, TopicPartition
from tapelog.spark.source import view as module
from tapelog.spark.source.view import ClusterView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytest.importorskip("pyspark")

RANGES = tuple(Range("t", number, 0, 2_400_000) for number in range(3))


def options(**more: str) -> ReadOptions:
    return read_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t", **more}, streaming=False)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Tasks of three partitions whose records take so many bytes."""

    def found(size: float, slots: int | None, *, fixed: bool, **more: str) -> Sequence[Task]:
        weights = {TopicPartition(one.topic, one.partition): size for one in RANGES}
        monkeypatch.setattr(module, "weights_of", lambda cluster, partitions: weights)
        return ClusterView(None).tasks(Plan(RANGES), options(**more), slots, fixed=fixed)  # type: ignore[arg-type]

    return found


def test_what_may_be_read_again_has_the_same_tasks_whatever_logs_weigh_and_slots_there_are(tasks: Any) -> None:
    first = tasks(400, 2, fixed=True)
    assert first == tasks(403, 8, fixed=True) == tasks(20, None, fixed=True)
    assert [piece for task in first for piece in task] == [
        Range("t", number, start, start + 1_200_000) for number in range(3) for start in (0, 1_200_000)
    ]
    assert tasks(390, None, fixed=False) != tasks(400, None, fixed=False), "else this test shows nothing"


def test_whoever_says_how_to_cut_is_obeyed_either_way(tasks: Any) -> None:
    for fixed in (False, True):
        assert tasks(400, 2, fixed=fixed, minPartitions="3") == [(one,) for one in RANGES]


@pytest.mark.parametrize(
    ("ends", "filtered", "fixed"),
    [("latest", False, False), ("latest", True, True), ('{"t":{"0":9}}', False, True)],
)
def test_a_read_up_to_now_is_shared_out_by_what_is_there_and_any_other_is_fixed(
    ends: str, filtered: bool, fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tapelog.spark.source import batch

    told: list[bool] = []

    class Asked(ClusterView):
        def tasks(self, plan: Plan, options: ReadOptions, slots: int | None, *, fixed: bool) -> Sequence[Task]:
            told.append(fixed)
            return []

    @contextmanager
    def view_of(settings: object) -> Iterator[ClusterView]:
        yield Asked(None)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "view_of", view_of)
    monkeypatch.setattr(batch, "plan_batch", lambda options, view, filters: Plan(RANGES))
    monkeypatch.setattr(batch, "settle", lambda: None)
    reader = batch.BatchReader(options(endingOffsets=ends))
    reader.filters = ["offset < 9"] if filtered else []  # type: ignore[list-item]
    reader.partitions()
    assert told == [fixed]
