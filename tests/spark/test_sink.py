"""df.write and df.writeStream with format("tapelog"), with a real Spark, a real broker, and readers of another make."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message

from tapelog.client.partitioner import partition_for_key
from tapelog.toolkit.lag import LagReader
from tests.spark.conftest import Topic
from tests.support.markers import nothing_open
from tests.support.waiting import until

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")


def messages(topic: Topic, *, committed: bool = True) -> list[Message]:
    """All that a reader of the topic sees; committed transactions whole."""
    if committed:
        nothing_open(topic.bootstrap, topic.name)
    consumer = Consumer(
        {
            "bootstrap.servers": topic.bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic.name])
    found, ends = [], set()
    try:
        while len(ends) < 3:
            message = consumer.poll(60)
            assert message is not None
            if message.error():
                ends.add(message.partition())
            else:
                found.append(message)
    finally:
        consumer.close()
    return found


def values(topic: Topic) -> Counter[bytes | None]:
    """How often each value is there."""
    return Counter(message.value() for message in messages(topic))


def to(topic: Topic, **more: object) -> dict[str, str]:
    """Options of a write."""
    return {"kafka.bootstrap.servers": topic.bootstrap, "topic": topic.name} | {
        name.replace("__", "."): str(value) for name, value in more.items()
    }


def said(doing: Callable[[], object]) -> str:
    """What the user reads when it fails."""
    with pytest.raises(Exception) as raised:
        doing()
    text = str(raised.value)
    lines = [line for line in text.splitlines() if "TapelogError" in line]
    assert lines, text
    return text[text.index(lines[0]) :]


def test_a_batch_write_has_the_columns_of_sparks_kafka_sink(spark: Any, topic: Topic) -> None:
    frame = spark.sql(
        "select cast(id as string) as key, concat('v', id) as value, "
        "if(id % 5 = 0, cast(2 as int), cast(null as int)) as partition, "
        "array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary))) as headers, "
        "id as leftover from range(100)"
    )
    frame.write.format("tapelog").options(**to(topic, kafka__compression__type="zstd")).mode("append").save()
    found = messages(topic)
    assert sorted(message.value() or b"" for message in found) == sorted(b"v%d" % number for number in range(100))
    for message in found:
        key = message.key()
        assert isinstance(key, bytes) and message.value() == b"v" + key
        assert message.headers() == [("h", key)]
        assert message.partition() == (2 if int(key) % 5 == 0 else partition_for_key(key, 3))


def test_a_repeated_version_writes_nothing_more(spark: Any, topic: Topic) -> None:
    app = uuid.uuid4().hex
    for version in (0, 1, 1, 0):
        frame = spark.range(50).selectExpr(f"concat('{version}-', id) as value")
        frame.write.format("tapelog").options(**to(topic, txnAppId=app, txnVersion=version)).mode("append").save()
    assert values(topic) == Counter(b"%d-%d" % (version, n) for version in (0, 1) for n in range(50))


class Copy:
    """A query that copies one topic to another, run again and again on one checkpoint."""

    def __init__(self, spark: Any, source: Topic, target: Topic, place: Path, **more: object) -> None:
        self.spark, self.source, self.target, self.more = spark, source, target, more
        self.checkpoint = place / "checkpoint"

    def run(self) -> None:
        rows = self.spark.readStream.format("tapelog").options(**self.source.options(startingOffsets="earliest")).load()
        sink = rows.select("key", "value").writeStream.format("tapelog").options(**to(self.target, **self.more))
        query = sink.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(120)
        assert query.exception() is None

    def forget_last(self) -> None:
        """As if the driver had died after the sink's commit and before Spark's own: the batch comes again."""
        last = max((path for path in (self.checkpoint / "commits").glob("[0-9]*")), key=lambda path: int(path.name))
        last.unlink()
        for crc in (self.checkpoint / "commits").glob(f".{last.name}.crc"):
            crc.unlink()


def test_groups_of_its_markers_are_told_from_groups_that_read(
    spark: Any, bootstrap: str, topic: Topic, tmp_path: Path
) -> None:
    target, app = Topic(bootstrap, 3), f"app-{uuid.uuid4().hex}"
    topic.write(30)
    Copy(spark, topic, target, tmp_path).run()
    query = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
    frame = spark.range(5).selectExpr("cast(id as string) as value")
    options = to(target, txnAppId=app, txnVersion=1, transactionalIdPrefix="mine")
    frame.write.format("tapelog").options(**options).mode("append").save()
    with LagReader(bootstrap) as reader:
        every = reader.groups(markers=True)
        made = [name for name in every if name.startswith((f"tapelog-{query}-", f"mine-app-{app}-"))]
        assert {name.split("-")[0] for name in made} == {"tapelog", "mine"}
        until(lambda: reader.marker_groups(every) >= set(made), "the markers' own transactions are at their end, too")
        assert not set(made) & set(reader.groups())


@pytest.mark.parametrize(("delivery", "times"), [("exactlyOnce", 1), ("atLeastOnce", 2)])
def test_a_batch_that_comes_again_is_there_once_unless_asked_otherwise(
    spark: Any, bootstrap: str, topic: Topic, tmp_path: Path, delivery: str, times: int
) -> None:
    target = Topic(bootstrap, 3)
    query = Copy(spark, topic, target, tmp_path, delivery=delivery)
    topic.write(60)
    query.run()
    query.forget_last()
    query.run()
    assert values(target) == Counter({b"v%d" % number: times for number in range(60)})
    topic.write(40, 60)
    query.run()
    assert values(target) == Counter({b"v%d" % n: times if n < 60 else 1 for n in range(100)})


def test_a_failed_task_leaves_nothing_that_readers_see_or_wait_for(spark: Any, topic: Topic) -> None:
    from pyspark.sql.functions import udf

    frame = spark.range(0, 300, 1, 2).select(udf(_fails_at_290, "string")("id").alias("value"))
    options = to(topic, delivery="exactlyOnce")
    with pytest.raises(Exception, match="planted"):
        frame.write.format("tapelog").options(**options).mode("append").save()
    spark.range(3).selectExpr("concat('good', id) as value").write.format("tapelog").options(**to(topic)).mode(
        "append"
    ).save()
    assert values(topic) == Counter({b"good0": 1, b"good1": 1, b"good2": 1})


def _fails_at_290(number: int) -> str:
    if number == 290:
        raise ValueError("planted")
    return f"row {number}"


@pytest.mark.parametrize(
    ("mode", "options", "words"),
    [
        ("overwrite", {}, "cannot be overwritten"),
        ("append", {"topicc": "x"}, "Did you mean topic"),
        ("append", {"kafka.transactional.id": "x"}, "transactionalIdPrefix"),
        ("append", {"topic": "no-such-topic"}, "no-such-topic"),
    ],
)
def test_what_is_wrong_is_told_in_three_lines(
    spark: Any, topic: Topic, mode: str, options: dict[str, str], words: str
) -> None:
    frame = spark.range(1).selectExpr("cast(id as string) as value")
    writer = frame.write.format("tapelog").options(**(to(topic) | options)).mode(mode)
    assert words in said(writer.save)
