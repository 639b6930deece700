"""How far a trigger goes where Spark tells no start (before PySpark 4.2): limits, and when they do not count."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tapelog.spark.plan.values import Plan, Range, TopicPartition
from tests.unit.spark.plan.world import World, options, world

pytest.importorskip("pyspark")

from tapelog.spark.source import stream
from tapelog.spark.source.stream import StreamReader

LIMIT = {"maxOffsetsPerTrigger": "30", "startingOffsets": "earliest"}


class Brokers(World):
    """A cluster without a tier."""

    def stocked(self, plan: Plan, options: object) -> Sequence[Range]:
        return plan.ranges


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """One partition with a hundred records."""
    brokers = Brokers(world(t=[(0, 100)]).logs)

    @contextmanager
    def view_of(settings: object) -> Iterator[Brokers]:
        yield brokers

    monkeypatch.setattr(stream, "view_of", view_of)
    return brokers


def reader(**more: str) -> StreamReader:
    return StreamReader(options(True, **(LIMIT | more)))


def at(offset: int) -> dict[str, Any]:
    return {"t": {"0": offset}}


def test_the_first_question_of_a_run_is_answered_with_everything_since_it_may_be_its_only_one(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    found = reader()
    found.partitions(at(20), at(20))  # how those versions tell where a query goes on
    with caplog.at_level(logging.WARNING):
        assert found.latestOffset() == at(100)
    assert "limitFirstTrigger" in caplog.text
    found.partitions(at(20), at(100))
    there.logs[TopicPartition("t", 0)] = (0, 200)
    assert found.latestOffset() == at(130)


def test_after_a_batch_that_was_left_limits_count_since_a_run_of_one_batch_asks_no_more(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    found = reader()
    found.partitions(at(0), at(20))
    with caplog.at_level(logging.WARNING):
        assert found.latestOffset() == at(50)
    assert caplog.text == ""


def test_who_asks_for_limits_from_the_first_trigger_on_gets_them(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    found = reader(limitFirstTrigger="true")
    found.partitions(at(20), at(20))
    anew = reader(limitFirstTrigger="true")
    with caplog.at_level(logging.WARNING):
        assert (found.latestOffset(), anew.latestOffset()) == (at(50), at(30))
        assert anew.initialOffset() == at(0)  # asked afterwards
        anew.partitions(at(0), at(30))
        assert anew.latestOffset() == at(60)
    assert caplog.text == ""


@pytest.mark.parametrize("limited", ["true", "false"])
def test_where_spark_tells_a_start_the_option_changes_nothing(there: Brokers, limited: str) -> None:
    assert reader(limitFirstTrigger=limited).latestOffset(at(20)) == at(50)


def test_a_new_query_from_the_latest_has_an_empty_first_batch_and_is_not_warned_of_it(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    found = reader(startingOffsets="latest")
    with caplog.at_level(logging.WARNING):
        assert found.latestOffset() == at(100)
        there.logs[TopicPartition("t", 0)] = (0, 200)
        assert found.initialOffset() == at(100), "else what came in between would be taken for lost"
        found.partitions(at(100), at(100))
        assert found.latestOffset() == at(130)
    assert caplog.text == ""


def test_a_new_query_is_warned_of_a_first_batch_without_limits(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert reader().latestOffset() == at(100)
    assert "limitFirstTrigger" in caplog.text
