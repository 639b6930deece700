"""A topic that is deleted and made anew is read and written by its new id, whatever Spark's workers knew before.

The whole matrix, beside Spark's own connector and on Apache Kafka: python -m tests.spark.recreated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

from tests.spark.conftest import Topic, limits_are_told
from tests.spark.recreated import cases
from tests.spark.recreated.cases import Outcome

LOSS = pytest.mark.parametrize("loss", ["true", "false"])


@pytest.fixture(scope="module", autouse=True)
def registered(spark: Any) -> None:
    from pyspark_tapelog import register

    register(spark, publish=False, brief=False)


def outcome(case: Any, spark: Any, topic: Topic, place: Path, **more: Any) -> Outcome:
    found = case(spark, "tapelog", topic, place, **({"partitions": 2, "count": 100} | more))
    assert isinstance(found, Outcome)
    return found


@LOSS
@pytest.mark.parametrize("case", [cases.batch, cases.new_stream], ids=lambda case: case.__name__)
def test_a_read_that_begins_afterwards_gets_every_row_at_the_first_try(
    spark: Any, bootstrap: str, tmp_path: Path, case: Any, loss: str
) -> None:
    topic = Topic(bootstrap, 2)
    assert outcome(case, spark, topic, tmp_path, failOnDataLoss=loss) == Outcome(100, 100)


@pytest.mark.parametrize(("case", "count"), [(cases.restarted, 60), (cases.running, 100)], ids=["restarted", "running"])
def test_a_query_that_goes_on_stops_and_names_the_topic_or_reads_it_from_its_start(
    spark: Any, bootstrap: str, tmp_path: Path, case: Any, count: int
) -> None:
    topic = Topic(bootstrap, 2)
    found = outcome(case, spark, topic, tmp_path / "true", count=count, failOnDataLoss="true")
    assert found.got == 0 and f"topic {topic.name} was deleted and made anew" in found.error
    topic = Topic(bootstrap, 2)
    found = outcome(case, spark, topic, tmp_path / "false", count=count, failOnDataLoss="false")
    assert found == Outcome(count, count)


def test_a_query_that_stopped_there_stops_again_until_it_may_lose_data_and_then_reads_the_whole_topic(
    spark: Any, bootstrap: str, tmp_path: Path
) -> None:
    topic = Topic(bootstrap, 2)
    found = outcome(cases.running, spark, topic, tmp_path, count=300, failOnDataLoss="true")
    assert found.got == 0 and "made anew" in found.error
    again = cases.Reading(spark, "tapelog", topic, tmp_path, failOnDataLoss="true")
    assert f"topic {topic.name} was deleted and made anew" in again.run()
    at_last = cases.Reading(spark, "tapelog", topic, tmp_path, failOnDataLoss="false")
    for _ in range(1 if limits_are_told() else 2):
        assert at_last.run() == ""
    assert len(at_last.seen) == 300 and set(at_last.seen.values()) == {1}


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4)])
@pytest.mark.parametrize("delivery", ["atLeastOnce", "exactlyOnce"])
def test_rows_are_written_to_the_partitions_that_the_new_topic_has(
    spark: Any, bootstrap: str, tmp_path: Path, before: int, after: int, delivery: str
) -> None:
    topic = Topic(bootstrap, before)
    assert outcome(cases.write, spark, topic, tmp_path, partitions=after, delivery=delivery) == Outcome(100, 100)
