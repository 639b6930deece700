"""spark.readStream.format("tapelog"), with a real Spark and a real broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import Topic, before_42, limits_are_told

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")


class Query:
    """A query from a topic to files, run by availableNow again and again on one checkpoint."""

    def __init__(self, spark: Any, topic: Topic, place: Path, **more: object) -> None:
        self.spark, self.topic, self.more = spark, topic, more
        self.out, self.checkpoint = str(place / "out"), place / "checkpoint"

    def run(self) -> list[int]:
        """Read what is there; returns how many rows each batch had."""
        source = self.spark.readStream.format("tapelog").options(**self.topic.options(**self.more)).load()
        sink = source.writeStream.format("parquet").option("path", self.out)
        query = sink.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(120)
        assert query.exception() is None
        return [progress["numInputRows"] for progress in query.recentProgress]

    def numbers(self) -> list[int]:
        """All that was written so far."""
        return sorted(int(row.value[1:]) for row in self.spark.read.parquet(self.out).select("value").collect())

    def offsets(self, batch: int) -> Any:
        """What the checkpoint says about a batch."""
        return json.loads((self.checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1])


def test_a_query_reads_everything_once_and_goes_on_where_it_stopped(spark: Any, topic: Topic, tmp_path: Path) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="earliest")
    topic.write(100)
    query.run()
    assert query.numbers() == list(range(100))
    topic.write(50, 100)
    query.run()
    assert query.numbers() == list(range(150))


def test_the_checkpoint_is_the_kafka_sources(spark: Any, topic: Topic, tmp_path: Path) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="earliest")
    topic.write(100, partition=2)
    query.run()
    topic.write(20, 100, partition=1)
    query.run()
    assert query.offsets(0) == {topic.name: {"0": 0, "1": 0, "2": 100}}
    assert query.offsets(1) == {topic.name: {"0": 0, "1": 20, "2": 100}}


@pytest.mark.skipif(not limits_are_told(), reason="PySpark tells a source in Python its limits from 4.2 on")
def test_a_limit_makes_more_batches(spark: Any, topic: Topic, tmp_path: Path) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="earliest", maxOffsetsPerTrigger=30)
    topic.write(100, partition=2)
    assert [rows for rows in query.run() if rows] == [30, 30, 30, 10]
    assert query.numbers() == list(range(100))
    assert query.offsets(1) == {topic.name: {"0": 0, "1": 0, "2": 60}}


@before_42
def test_what_is_there_now_is_one_batch_whatever_the_limit_and_no_row_stays_behind(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="earliest", maxOffsetsPerTrigger=30)
    topic.write(100, partition=2)
    assert [rows for rows in query.run() if rows] == [100]
    topic.write(70, 100, partition=1)
    assert [rows for rows in query.run() if rows] == [70]
    assert query.numbers() == list(range(170))


@before_42
def test_a_batch_that_was_left_is_a_run_of_its_own_and_the_next_reads_the_rest(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="earliest", maxOffsetsPerTrigger=30)
    topic.write(100, partition=2)
    query.run()
    for file in (query.checkpoint / "commits").glob("*0*"):
        file.unlink()
    topic.write(70, 100, partition=1)
    query.run()
    assert sum(query.run()) == 70
    assert query.numbers() == list(range(170))


@before_42
def test_a_run_reads_one_limited_batch_where_that_is_asked_for(spark: Any, topic: Topic, tmp_path: Path) -> None:
    limits = {"maxOffsetsPerTrigger": 30, "limitFirstTrigger": "true"}
    query = Query(spark, topic, tmp_path, startingOffsets="earliest", **limits)
    topic.write(70, partition=2)
    assert [[rows for rows in query.run() if rows] for _ in range(3)] == [[30], [30], [10]]
    assert query.numbers() == list(range(70))


def test_a_reader_that_is_told_no_start_takes_everything_at_first_and_keeps_to_its_limit_then(topic: Topic) -> None:
    from tapelog.spark.plan import read_options
    from tapelog.spark.source.stream import StreamReader

    def at(offset: int) -> dict[str, dict[str, int]]:
        return {topic.name: {"0": 0, "1": 0, "2": offset}}

    reader = StreamReader(read_options(topic.options(maxOffsetsPerTrigger=30), streaming=True))
    topic.write(100, partition=2)
    reader.partitions(at(20), at(20))  # how PySpark 4.0 and 4.1 tell where a query goes on
    assert reader.latestOffset() == at(100), "all that availableNow asks there"
    reader.partitions(at(20), at(100))
    topic.write(50, 100, partition=2)
    assert reader.latestOffset() == at(130)


def test_a_query_from_the_latest_writes_down_its_beginning_and_then_reads(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    query = Query(spark, topic, tmp_path, startingOffsets="latest")
    topic.write(10)
    assert sum(query.run()) == 0
    topic.write(20, 10)
    assert sum(query.run()) == 20
    assert query.numbers() == list(range(10, 30))


def test_a_query_that_runs_reads_what_comes(spark: Any, topic: Topic, tmp_path: Path) -> None:
    source = spark.readStream.format("tapelog").options(**topic.options(startingOffsets="latest")).load()
    name = topic.name.replace("-", "_")
    query = source.writeStream.format("memory").queryName(name).start()
    try:
        while query.lastProgress is None or query.lastProgress["batchId"] < 0 or not query.recentProgress:
            query.awaitTermination(0.2)
        query.processAllAvailable()
        topic.write(25)
        query.processAllAvailable()
        rows = spark.sql(f"select value from {name}").collect()
        assert sorted(int(row.value[1:]) for row in rows) == list(range(25))
    finally:
        query.stop()
