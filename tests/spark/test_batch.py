"""spark.read.format("tapelog"), with a real Spark and a real broker."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.spark.conftest import Topic

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"


def load(spark: Any, topic: Topic, **more: object) -> Any:
    return spark.read.format("tapelog").options(**topic.options(**more)).load()


def numbers(frame: Any) -> list[int]:
    return sorted(int(row.value[1:]) for row in frame.select("value").collect())


def test_every_record_is_a_row_with_the_columns_of_sparks_kafka_source(spark: Any, topic: Topic) -> None:
    topic.write(30)
    frame = load(spark, topic, includeHeaders="true")
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    rows = frame.collect()
    assert sorted(int(row.value[1:]) for row in rows) == list(range(30))
    for row in rows:
        number = int(row.value[1:])
        assert (row.key, row.topic, row.timestampType) == (b"k%d" % (number % 10), topic.name, 0)
        pairs = None if row.headers is None else [(header.key, header.value) for header in row.headers]
        assert pairs == ([("n", b"%d" % number), ("none", None)] if number % 3 == 0 else None)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(spark: Any, topic: Topic, codec: str) -> None:
    topic.write(500, **{"compression.type": codec})
    assert numbers(load(spark, topic, columns="value")) == list(range(500))


def test_a_topic_is_a_view_in_sql(spark: Any, topic: Topic) -> None:
    topic.write(10)
    options = ", ".join(f"'{name}' '{value}'" for name, value in topic.options(columns="value").items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW of_a_topic USING tapelog OPTIONS ({options})")
    assert numbers(spark.table("of_a_topic")) == list(range(10))
    assert spark.sql("SELECT count(*) AS n FROM of_a_topic WHERE value > X'7635'").first().n == 4


def test_columns_that_are_not_asked_for_are_not_there(spark: Any, topic: Topic) -> None:
    topic.write(3)
    frame = load(spark, topic, columns="offset,value")
    assert frame.columns == ["value", "offset"]
    assert frame.count() == 3


def test_offsets_from_and_to_are_honoured(spark: Any, topic: Topic) -> None:
    topic.write(100, partition=1)
    ends = [f'{{"{topic.name}":{{"0":-2,"1":10,"2":-2}}}}', f'{{"{topic.name}":{{"0":-1,"1":15,"2":-1}}}}']
    frame = load(spark, topic, startingOffsets=ends[0], endingOffsets=ends[1])
    assert numbers(frame) == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("push_down", ["true", "false"])
def test_a_predicate_gives_the_same_rows_pushed_down_or_not(spark: Any, topic: Topic, push_down: str) -> None:
    topic.write(60, partition=0)
    topic.write(60, 60, partition=1)
    spark.conf.set(PUSH_DOWN, push_down)
    try:
        frame = load(spark, topic)
        assert numbers(frame.where("partition = 1 and offset >= 7 and offset < 9")) == [67, 68]
        assert numbers(frame.where("offset in (1, 5) and partition in (0, 2)")) == [1, 5]
        assert frame.where("timestamp < '2020-01-01'").count() == 0
        assert frame.where("timestamp > '2020-01-01'").count() == 120
        assert frame.where(f"topic = '{topic.name}' and key = 'k3'").count() == 12
    finally:
        spark.conf.unset(PUSH_DOWN)


def test_a_password_reaches_the_executors_as_a_secret_only(topic: Topic) -> None:
    from tapelog.spark.source.datasource import TapelogDataSource

    given = topic.options() | {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="u" password="unheard-of";',
    }
    source = TapelogDataSource(given)
    reader = source.reader(source.schema())
    assert "unheard-of" not in repr(vars(source)) + repr(vars(reader))


def test_an_empty_topic_has_no_rows(spark: Any, topic: Topic) -> None:
    assert load(spark, topic).collect() == []


def test_read_committed_leaves_out_what_was_aborted(spark: Any, topic: Topic) -> None:
    producer = Producer({"bootstrap.servers": topic.bootstrap, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic.name, b"v%d" % number)
        producer.flush(30)  # an abort would drop what is not sent yet
        (producer.abort_transaction if number % 2 else producer.commit_transaction)(30)
    assert numbers(load(spark, topic, kafka_isolation_level="read_committed")) == [0, 2, 4]
    assert numbers(load(spark, topic)) == [0, 1, 2, 3, 4, 5]


def test_many_small_ranges_hold_the_same_rows(spark: Any, topic: Topic) -> None:
    topic.write(200)
    frame = load(spark, topic, minPartitions=12)
    assert frame.rdd.getNumPartitions() >= 10
    assert numbers(frame) == list(range(200))


def test_a_repeatable_read_keeps_its_tasks_when_retention_and_filters_take_rows(spark: Any, topic: Topic) -> None:
    for partition in range(2):
        topic.write(40, 40 * partition, partition=partition)
    ends = [f'{{"{topic.name}":{{"0":{first},"1":{first},"2":0}}}}' for first in (0, 40)]
    more = {"repeatable": "true", "failOnDataLoss": "false", "maxRecordsPerPartition": 10}

    def tasks(where: str) -> dict[int, list[int]]:
        frame = load(spark, topic, startingOffsets=ends[0], endingOffsets=ends[1], **more)
        found: dict[int, list[int]] = {}
        for row in frame.where(where).selectExpr("spark_partition_id() task", "value").collect():
            found.setdefault(row.task, []).append(int(row.value[1:]))
        return found

    first = tasks("true")
    assert first == {task: list(range(10 * task, 10 * task + 10)) for task in range(8)}
    admin = AdminClient({"bootstrap.servers": topic.bootstrap})
    trimmed = admin.delete_records([TopicPartition(topic.name, 0, 15)])
    assert [future.result(30).low_watermark for future in trimmed.values()] == [15]
    topic.write(40, 100, partition=0)
    assert tasks("true") == {**{task: first[task] for task in range(2, 8)}, 1: list(range(15, 20))}
    assert tasks("partition = 1 and offset < 25") == {4: first[4], 5: first[5], 6: list(range(60, 65))}


def problem(frame: Any) -> list[str]:
    """The lines of the error that a query ends with, without what Spark puts around them."""
    with pytest.raises(Exception) as error:
        frame().count()
    text = str(error.value)
    assert "Traceback" not in text and "File " not in text, text
    lines = text[text.index("TapelogError: ") + len("TapelogError: ") :].splitlines()
    return [line for line in lines if line and not line.startswith(" SQLSTATE")]


def test_what_goes_wrong_is_told_in_three_lines(spark: Any, topic: Topic) -> None:
    lines = problem(lambda: load(spark, topic, subscribe="absent"))
    assert "absent" in lines[0] and len(lines) <= 3
    lines = problem(lambda: load(spark, topic, startingOffsts="earliest"))
    assert "startingOffsets" in lines[0] and len(lines) <= 3
    lines = problem(
        lambda: load(spark, topic, **{"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": 500})
    )
    assert "127.0.0.1:1" in "".join(lines) and len(lines) <= 3
