"""Queries of a run while Spark works on them: what ends a run, and what is tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tapelog.spark.pipeline import loads, make_plan
from tapelog.spark.pipeline.run import engine
from tapelog.spark.pipeline.run.engine import Orders, QueryError, run_plan
from tapelog.spark.pipeline.run.running import STARTS_MAX
from tapelog.spark.pipeline.trouble import NOT_CONNECTED

DOCUMENT = """
[pipeline]
name = "shop"
checkpoint = "/nowhere"
trigger = "5 seconds"
[sources.orders]
file = "orders"
schema = "id BIGINT"
stream = true
[sinks.screen]
from = "orders"
console = true
"""


class Query:
    """What PySpark gives for a query: it ends at once, with this failure."""

    isActive = False

    def __init__(self, number: int, failure: str | None) -> None:
        self.recentProgress = [] if failure else [{"batchId": number, "numInputRows": 7}]
        self._failure = failure
        self.stops = 0

    def exception(self) -> Exception | None:
        return None if self._failure is None else RuntimeError(self._failure)

    def stop(self) -> None:
        self.stops += 1


class Frames:
    """Frames of a plan, none of them real."""

    def __init__(self, *given: Any, **more: Any) -> None:
        pass

    def make(self, names: tuple[str, ...]) -> dict[str, Any]:
        return dict.fromkeys(names, type("Made", (), {"good": None, "bad": None}))


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """How each start of the query ends, one after the other."""
    told: list[str | None] = []

    class Writing:
        def __init__(self, *given: Any) -> None:
            pass

        def start(self, *given: Any, **more: Any) -> Query:
            assert more["checkpoint"] == "/nowhere/screen"
            return Query(0, told.pop(0))

    monkeypatch.setattr(engine, "Frames", Frames)
    monkeypatch.setattr(engine, "Writing", Writing)
    monkeypatch.setattr(engine, "LOOK_S", 0)
    return told


def run(place: Path) -> engine.Report:
    return run_plan(make_plan(loads(DOCUMENT, str(place / "shop.toml"))), Orders(spark=object()))


def test_a_query_whose_python_came_too_late_is_started_again(failures: list[str | None], tmp_path: Path) -> None:
    failures += [f"[X] {NOT_CONNECTED}.", f"[X] {NOT_CONNECTED}.", None]
    report = run(tmp_path)
    assert report.state == "ended" and report.queries["screen"].rows == 7 and not failures


def test_it_is_not_tried_for_ever(failures: list[str | None], tmp_path: Path) -> None:
    failures += [NOT_CONNECTED] * (STARTS_MAX + 1)
    with pytest.raises(QueryError, match=r"\[sinks.screen\] stopped: Python did not come up(?s:.*)too busy"):
        run(tmp_path)
    assert len(failures) == 1


def test_any_other_failure_ends_the_run_at_once(failures: list[str | None], tmp_path: Path) -> None:
    failures += ["[DIVIDE_BY_ZERO] Division by zero.", None]
    with pytest.raises(QueryError, match="Division by zero"):
        run(tmp_path)
    assert len(failures) == 1
