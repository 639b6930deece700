"""A streaming query as consumers' tools see it: its progress in a consumer group, after the checkpoint."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.spark.conftest import Topic, before_42, limits_are_told
from tests.support.kafka_dumper import LIB
from tests.support.waiting import until

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

NOTHING = -1001
FROM_42 = pytest.mark.skipif(not limits_are_told(), reason="PySpark asks a source in Python so much from 4.2 on")


def committed(topic: Topic, group: str) -> list[int]:
    """What librdkafka says is committed; NOTHING where that is so."""
    consumer = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic.name, number) for number in range(3)], timeout=20)
    consumer.close()
    return [one.offset for one in found]


def ends(topic: Topic) -> list[int]:
    consumer = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": "none"})
    found = [consumer.get_watermark_offsets(TopicPartition(topic.name, number), timeout=20)[1] for number in range(3)]
    consumer.close()
    return found


@pytest.fixture
def listening(spark: Any) -> None:
    from tapelog.spark.source.datasource import register

    register(spark)
    register(spark)  # once is enough, twice does no harm


def run(spark: Any, topic: Topic, place: Path, name: str | None = None, **more: object) -> Any:
    source = spark.readStream.format("tapelog").options(**topic.options(startingOffsets="earliest", **more)).load()
    sink = source.writeStream.format("noop").option("checkpointLocation", str(place / "checkpoint"))
    query = (sink.queryName(name) if name else sink).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return query


def tool(topic: Topic, group: str) -> list[str]:
    """Kafka's own kafka-consumer-groups --describe."""
    if not LIB.exists():
        pytest.skip("Kafka's tools are not here (tests/clients/setup.sh)")
    words = ["java", "-cp", f"{LIB}/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]
    words += ["--bootstrap-server", topic.bootstrap, "--describe", "--group", group]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return (done.stdout or done.stderr).splitlines()


def test_a_query_publishes_its_last_batch_too_to_the_group_of_its_name(
    spark: Any, topic: Topic, tmp_path: Path, listening: None
) -> None:
    name = f"revenue-{topic.name}"
    topic.write(90)
    run(spark, topic, tmp_path, name, maxOffsetsPerTrigger=40)
    until(lambda: committed(topic, name) == ends(topic), "everything committed")
    topic.write(30)
    out = tool(topic, name)
    assert sum(int(line.split()[5]) for line in out if topic.name in line.split()) == 30, out


@FROM_42
def test_progress_tells_how_far_a_query_is_behind(spark: Any, topic: Topic, tmp_path: Path, listening: None) -> None:
    from tapelog.spark.listener.progress import lag

    topic.write(90)
    query = run(spark, topic, tmp_path, maxOffsetsPerTrigger=40)
    behind = [int(found["maxOffsetsBehindLatest"]) for (found,) in map(lag, query.recentProgress) if found]
    assert behind[0] > 0 and behind[-1] == 0, query.recentProgress


def test_the_group_may_be_named(spark: Any, topic: Topic, tmp_path: Path, listening: None) -> None:
    topic.write(30)
    given = f"given-{topic.name}"
    run(spark, topic, tmp_path, kafka_group_id=given)
    until(lambda: committed(topic, given) == ends(topic), "the given group")


@FROM_42
def test_the_source_publishes_by_itself_where_an_option_says_so(
    spark: Any, topic: Topic, tmp_path: Path, listening: None
) -> None:
    topic.write(60)
    group, name = f"own-{topic.name}", f"name-{topic.name}"
    run(spark, topic, tmp_path, name, progressGroup=group, maxOffsetsPerTrigger=25)
    until(lambda: committed(topic, group) == ends(topic), "everything committed")
    assert committed(topic, name) == [NOTHING] * 3  # the listener leaves it to the source


@before_42
def test_the_source_publishes_what_availableNow_has_read_when_the_query_goes_on(
    spark: Any, topic: Topic, tmp_path: Path, listening: None
) -> None:
    topic.write(60)
    group = f"own-{topic.name}"
    run(spark, topic, tmp_path, progressGroup=group)
    read = ends(topic)
    topic.write(30)
    run(spark, topic, tmp_path, progressGroup=group)
    until(lambda: committed(topic, group) == read, "what the first run read")


def test_each_source_of_a_query_is_published_and_only_ours(
    spark: Any, topic: Topic, tmp_path: Path, listening: None
) -> None:
    topic.write(20)
    ours = spark.readStream.format("tapelog").options(**topic.options(startingOffsets="earliest")).load()
    rate = spark.readStream.format("rate").load().selectExpr("cast(cast(value as string) as binary) value")
    both = rate.union(ours.select("value")).union(ours.select("key"))
    name = f"both-{topic.name}"
    sink = both.writeStream.format("noop").queryName(name).option("checkpointLocation", str(tmp_path))
    query = sink.start()
    try:
        query.processAllAvailable()
        until(lambda: committed(topic, name) == ends(topic), "everything committed")
    finally:
        query.stop()


def test_commits_that_are_refused_do_not_harm_the_query(
    spark: Any, topic: Topic, tmp_path: Path, listening: None
) -> None:
    group = f"taken-{topic.name}"  # by a member of its own: nobody else may commit
    member = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": group})
    member.subscribe([topic.name])
    until(lambda: member.poll(0.1) is not None or bool(member.assignment()), "a member")
    topic.write(30)
    query = run(spark, topic, tmp_path, kafka_group_id=group)
    assert query.exception() is None and sum(one["numInputRows"] for one in query.recentProgress) == 30
    assert committed(topic, group) == [NOTHING] * 3
    member.close()
