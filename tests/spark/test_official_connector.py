"""Spark's own Kafka connector, unmodified, reads from and writes to Tapelog."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.names import check_source_option
from tests.spark.conftest import Topic, connector_jars
from tests.spark.test_sink import messages, to, values

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.skipif(
    not connector_jars(), reason="needs Spark's Kafka connector (make bench-spark fetches it by Maven)"
)


def test_it_reads_what_was_written(spark: Any, topic: Topic) -> None:
    topic.write(200)
    rows = spark.read.format("kafka").options(**topic.options(includeHeaders=True)).load()
    ours = spark.read.format("tapelog").options(**topic.options(includeHeaders=True)).load()
    order = ["partition", "offset"]
    assert rows.orderBy(*order).collect() == ours.orderBy(*order).collect()
    assert rows.count() == 200


def test_it_writes_what_others_read(spark: Any, topic: Topic) -> None:
    frame = spark.range(100).selectExpr("cast(id as string) as key", "concat('v', id) as value")
    frame.write.format("kafka").options(**to(topic, kafka__compression__type="lz4")).save()
    found = messages(topic)
    assert Counter(message.value() for message in found) == Counter(b"v%d" % number for number in range(100))
    ours = Topic(topic.bootstrap, 3)
    frame.write.format("tapelog").options(**to(ours)).mode("append").save()
    assert {m.key(): m.partition() for m in found} == {m.key(): m.partition() for m in messages(ours)}


def test_it_streams_from_topic_to_topic(spark: Any, bootstrap: str, topic: Topic, tmp_path: Path) -> None:
    target = Topic(bootstrap, 3)
    topic.write(80)
    rows = spark.readStream.format("kafka").options(**topic.options(startingOffsets="earliest")).load()
    sink = rows.select("key", "value").writeStream.format("kafka").options(**to(target))
    query = sink.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    query.awaitTermination(120)
    assert query.exception() is None
    assert values(target) == Counter(b"v%d" % number for number in range(80))


def texts_in(jar: Path, *classes: str) -> set[str]:
    """The plain ASCII constants of some classes: a tag 1, two bytes of length, the text."""
    found = set()
    with zipfile.ZipFile(jar) as held:
        for name in classes:
            content = held.read(f"org/apache/spark/sql/kafka010/{name}.class")
            for match in re.finditer(rb"\x01\x00([\x05-\x40])", content):
                text = content[match.end() : match.end() + match[1][0]]
                if re.fullmatch(rb"[A-Za-z.]+", text):
                    found.add(text.decode())
    return found


def test_every_option_that_its_provider_knows_is_taken() -> None:
    jar = next(path for path in connector_jars() if "spark-sql-kafka" in path.name)
    texts = texts_in(jar, "KafkaSourceProvider$", "KafkaSourceProvider", "KafkaMicroBatchStream$")
    wording = r"(fetchoffset|kafkaconsumer)\.\w+|(starting|ending|min|max|group|include|failon|subscribe)[a-z]+|assign"
    options = {text for text in texts if re.fullmatch(wording, text)}
    assert {"fetchoffset.numretries", "kafkaconsumer.polltimeoutms", "startingoffsetsbytimestampstrategy"} <= options
    assert {"maxtriggerdelay", "minoffsetspertrigger", "subscribepattern", "endingtimestamp"} <= options
    refused = []
    for name in sorted(options):
        try:
            check_source_option(name)
        except OptionError as error:
            refused.append(str(error))
    assert not refused
