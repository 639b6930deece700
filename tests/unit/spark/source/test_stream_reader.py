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
from tapelog.spark.source.errors import TapelogError
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


OLD, NEW = b"o" * 16, b"n" * 16


def test_a_topic_made_anew_between_triggers_is_read_from_its_start_by_its_new_id(there: Brokers) -> None:
    there.topic_ids = {"t": OLD}
    found = reader(failOnDataLoss="false", limitFirstTrigger="true")
    assert found.latestOffset(at(40)) == at(70)
    assert [one.value.topic_id for one in found.partitions(at(40), at(70))] == [OLD]
    there.topic_ids = {"t": NEW}
    there.logs[TopicPartition("t", 0)] = (0, 70)  # as many as were read: the offsets alone tell nothing
    assert found.latestOffset(at(70)) == at(0)
    assert [one.value for one in found.partitions(at(70), at(0))] == []
    assert found.latestOffset(at(0)) == at(30)
    assert [(one.value.start, one.value.topic_id) for one in found.partitions(at(0), at(30))] == [(0, NEW)]
    there.topic_ids = {"t": OLD}  # told by a broker whose metadata is old
    assert found.latestOffset(at(30)) == at(60)
    assert [one.value.topic_id for one in found.partitions(at(30), at(60))] == [NEW]


def test_or_stops_the_query(there: Brokers) -> None:
    there.topic_ids = {"t": OLD}
    found = reader()
    found.latestOffset(at(40))
    there.topic_ids = {"t": NEW}
    with pytest.raises(TapelogError, match="topic t was deleted and made anew"):
        found.partitions(at(40), at(70))
    again = reader()
    again.latestOffset(at(40))
    there.topic_ids = {"t": OLD[::-1]}
    assert again.latestOffset(at(40)) == at(0)
    for run in (again, reader()):  # the end is in the checkpoint: it stops the next run, too
        with pytest.raises(TapelogError, match="topic t was deleted and made anew"):
            run.partitions(at(40), at(0))


def test_offsets_planned_just_before_are_not_read_from_the_new_topic(there: Brokers) -> None:
    there.topic_ids = {"t": OLD}
    found = reader(failOnDataLoss="false", limitFirstTrigger="true")
    assert found.latestOffset(at(40)) == at(70)
    there.topic_ids = {"t": NEW}
    assert [one.value for one in found.partitions(at(40), at(70))] == [None]
    assert found.latestOffset(at(70)) == at(0), "all of the new topic is still to be read"
    found.partitions(at(70), at(0))
    assert found.latestOffset(at(0)) == at(30)


def test_a_batch_that_is_replayed_from_a_topic_made_anew_is_passed_over_and_the_topic_read(there: Brokers) -> None:
    there.topic_ids = {"t": NEW}
    there.uncut = {TopicPartition("t", 0)}
    there.logs[TopicPartition("t", 0)] = (0, 60)
    found = reader(failOnDataLoss="false")
    assert [one.value for one in found.partitions(at(40), at(70))] == [None]
    there.logs[TopicPartition("t", 0)] = (0, 200)  # by now its end proves nothing any more
    assert found.latestOffset(at(70)) == at(0)


def test_a_topic_that_keeps_its_id_is_not_read_twice_when_its_log_is_cut_back(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    there.topic_ids = {"t": OLD}
    there.uncut = {TopicPartition("t", 0)}
    found = reader(failOnDataLoss="false", limitFirstTrigger="true")
    assert found.latestOffset(at(70)) == at(100)
    found.partitions(at(70), at(100))
    there.logs[TopicPartition("t", 0)] = (0, 90)
    with caplog.at_level(logging.WARNING):
        assert found.latestOffset(at(100)) == at(90)
        found.partitions(at(100), at(90))
    assert "but ends at 90 now. The topic was made anew, or its log was cut back" in caplog.text
    assert found.latestOffset(at(90)) == at(90)


@pytest.mark.parametrize("ids", [{"t": NEW}, {}])
def test_a_run_that_has_just_begun_goes_by_the_end_though_it_has_asked_for_the_id(
    there: Brokers, ids: dict[str, bytes]
) -> None:
    there.topic_ids = ids
    there.uncut = {TopicPartition("t", 0)}
    there.logs[TopicPartition("t", 0)] = (0, 60)
    found = reader(failOnDataLoss="false")
    found.partitions(at(70), at(70))  # how PySpark before 4.2 tells where a query goes on
    assert found.latestOffset() == at(0)


def test_available_now_ends_with_what_the_new_topic_had(there: Brokers) -> None:
    there.topic_ids = {"t": OLD}
    found = reader(failOnDataLoss="false")
    found.prepareForTriggerAvailableNow()
    assert found.latestOffset(at(80)) == at(100)
    there.topic_ids = {"t": NEW}
    there.logs[TopicPartition("t", 0)] = (0, 20)
    assert found.latestOffset(at(100)) == at(0)
    there.logs[TopicPartition("t", 0)] = (0, 25)
    assert found.latestOffset(at(0)) == at(20)
    assert found.latestOffset(at(20)) == at(20)


def test_a_new_query_is_warned_of_a_first_batch_without_limits(
    there: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert reader().latestOffset() == at(100)
    assert "limitFirstTrigger" in caplog.text
