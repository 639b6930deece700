"""Spark's own Kafka connector, unmodified, reads from and writes to Tapelog."""

from __future__ import annotations

import re
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.names import check_source_option
from tests.spark.conftest import Topic, connector_jars
from tests.spark.test_sink import messages, to, values

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.skipif(
    not connector_jars(), reason="needs Spark's Kafka connector (python -m bench.spark.connector fetches it)"
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


def stamped(topic: Topic) -> list[int]:
    """Ten records in each of three partitions, a second apart; the times of the first, the fifth and the last."""
    producer = Producer({"bootstrap.servers": topic.bootstrap})
    first = time.time_ns() // 1_000_000 - 60_000  # young enough for retention
    for number in range(30):
        stamp = first + 1000 * (number // 3)
        producer.produce(topic.name, b"v%d" % number, partition=number % 3, timestamp=stamp)
    assert producer.flush(30) == 0
    return [first, first + 4000, first + 9000]


def ways_to_choose(topic: Topic, times: list[int]) -> list[dict[str, str]]:
    """Options of a batch read that choose rows."""
    name, (_, middle, last) = topic.name, times
    by_time = f'{{"{name}":{{"0":{middle},"1":{last},"2":{middle}}}}}'
    offsets = f'{{"{name}":{{"0":3,"1":-2,"2":7}}}}', f'{{"{name}":{{"0":5,"1":-1,"2":-1}}}}'
    return [
        {"startingTimestamp": str(middle)},
        {"startingTimestamp": str(middle + 1), "endingTimestamp": str(last)},
        {"startingOffsetsByTimestamp": by_time},
        {"startingOffsetsByTimestamp": by_time, "startingTimestamp": str(last)},
        {"startingTimestamp": str(last + 1), "startingOffsetsByTimestampStrategy": "latest"},
        {"endingOffsetsByTimestamp": by_time},
        {"endingTimestamp": str(last + 5000), "endingOffsets": offsets[1]},
        {"startingOffsets": offsets[0], "endingOffsets": offsets[1], "maxRecordsPerPartition": "2"},
        {"startingOffsets": "earliest", "minPartitions": "7", "failOnDataLoss": "false"},
        {"assign": f'{{"{name}":[0,2]}}', "subscribe": ""},
        {"subscribePattern": f"^{name[:-1]}.$", "subscribe": "", "includeHeaders": "true"},
        {"kafka.isolation.level": "read_committed", "fetchOffset.numRetries": "5", "groupIdPrefix": "p"},
    ]


@pytest.mark.timeout(600)
def test_options_choose_the_same_rows(spark: Any, topic: Topic) -> None:
    counts = []
    for more in ways_to_choose(topic, stamped(topic)):
        given = {name: value for name, value in (topic.options() | more).items() if value}
        theirs, ours = (
            sorted(spark.read.format(source).options(**given).load().collect(), key=lambda row: row[3:5])
            for source in ("kafka", "tapelog")
        )
        assert ours == theirs, more
        counts.append(len(ours))
    assert min(counts) == 0 and max(counts) == 30 and len(set(counts)) > 4, counts


def test_a_timestamp_that_is_too_young_fails_both(spark: Any, topic: Topic) -> None:
    late = topic.options(startingTimestamp=str(stamped(topic)[2] + 1))
    for source in ("kafka", "tapelog"):
        with pytest.raises(Exception, match=topic.name):
            spark.read.format(source).options(**late).load().count()


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
