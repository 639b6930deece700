"""tapelog.spark.register(spark), with a real Spark: what a session's workers are told, and what that changes."""

from __future__ import annotations

from typing import Any

import pytest

import tapelog.spark
from tests.spark.conftest import Topic

pyspark = pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")


@pytest.fixture
def registered(spark: Any) -> Any:
    """The session, registered; told as little as others need."""
    tapelog.spark.register(spark, publish=False, brief=False)
    return spark


def test_workers_import_pyspark_from_where_the_driver_does(registered: Any) -> None:
    def where(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    assert registered.sparkContext.parallelize([0], 1).map(where).collect() == [pyspark.__file__]


@pytest.mark.skipif(
    pyspark.__version__.startswith("4.0."), reason="PySpark 4.0 keeps a source that it has found: it tells it no slots"
)
def test_three_small_partitions_are_read_by_the_two_slots(registered: Any, topic: Topic) -> None:
    for partition in range(3):
        topic.write(10, first=10 * partition, partition=partition)
    frame = registered.read.format("tapelog").options(**topic.options()).load()
    assert frame.rdd.getNumPartitions() == 2
    assert sorted(int(row.value[1:]) for row in frame.collect()) == list(range(30))


def test_who_asks_for_partitions_gets_them(registered: Any, topic: Topic) -> None:
    topic.write(30, partition=0)
    frame = registered.read.format("tapelog").options(**topic.options(minPartitions=5)).load()
    assert frame.rdd.getNumPartitions() == 5
    assert sorted(int(row.value[1:]) for row in frame.collect()) == list(range(30))
