"""What goes wrong is told in at most three lines that name the option or file, in a batch and in a stream."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.spark.conftest import Topic

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

LINES_MAX = 3
NOBODY = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "500"}
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "nothing"}]}'


def told(error: BaseException) -> list[str]:
    """Our lines in what Spark says; no frames, neither Python's nor Java's."""
    text = str(error)
    assert "Traceback" not in text and "\tat " not in text and 'File "' not in text, text
    assert "TapelogError: " in text, text
    ours = text[text.index("TapelogError: ") + len("TapelogError: ") :]
    lines = []
    for line in ours.splitlines():
        if not line.strip() or line.strip().startswith(("SQLSTATE", "===", "at ")):
            break
        lines.append(line)
    return lines


def batch(spark: Any, topic: Topic, place: Path, more: dict[str, str]) -> list[str]:
    """What a batch read is told."""
    with pytest.raises(Exception) as caught:
        spark.read.format("tapelog").options(**(topic.options() | more)).load().count()
    return told(caught.value)


def stream(spark: Any, topic: Topic, place: Path, more: dict[str, str]) -> list[str]:
    """What a streaming query ends with."""
    with pytest.raises(Exception) as caught:
        frame = spark.readStream.format("tapelog").options(**(topic.options() | more)).load()
        query = frame.writeStream.format("noop").option("checkpointLocation", str(place / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination(60)
    return told(caught.value)


BAD: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "a topic that is not there": ({"subscribe": "absent-topic"}, ("absent-topic", "subscribe")),
    "a broker that does not answer": (NOBODY, ("127.0.0.1:1", "kafka.bootstrap.servers")),
    "an option that does not exist": ({"startingOffsts": "earliest"}, ("startingOffsts", "startingOffsets")),
    "a schema that is none": ({"valueFormat": "avro", "valueSchema": AVRO}, ("valueSchema", "nothing")),
    "a schema file that is not there": (
        {"valueFormat": "avro", "valueSchemaFile": "/no/such.avsc"},
        ("/no/such.avsc",),
    ),
}


@pytest.mark.parametrize("read", [batch, stream])
@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_told_in_three_lines(
    spark: Any, topic: Topic, tmp_path: Path, read: Callable[..., list[str]], what: str
) -> None:
    more, words = BAD[what]
    lines = read(spark, topic, tmp_path, more)
    assert 1 <= len(lines) <= LINES_MAX, lines
    for word in words:
        assert word.lower() in "\n".join(lines).lower(), lines  # Spark tells a batch read its options in lower case


def test_a_schema_that_a_topic_cannot_have_is_told(spark: Any, topic: Topic) -> None:
    with pytest.raises(Exception) as caught:
        spark.read.format("tapelog").schema("amount double").options(**topic.options()).load().count()
    lines = told(caught.value)
    assert len(lines) <= LINES_MAX and "amount" in lines[0] and "columns" in "\n".join(lines)


def delete_up_to(topic: Topic, offset: int) -> None:
    """As retention does."""
    admin = AdminClient({"bootstrap.servers": topic.bootstrap})
    for future in admin.delete_records([TopicPartition(topic.name, 0, offset)]).values():
        future.result(30)


def test_a_batch_from_offsets_that_retention_took_says_so(spark: Any, topic: Topic, tmp_path: Path) -> None:
    topic.write(20, partition=0)
    delete_up_to(topic, 10)
    lines = batch(spark, topic, tmp_path, {"startingOffsets": f'{{"{topic.name}":{{"0":3,"1":0,"2":0}}}}'})
    assert len(lines) <= LINES_MAX and topic.name in "\n".join(lines) and "failOnDataLoss" in "\n".join(lines), lines


class Copy:
    """A query that copies a topic to files, by availableNow, on one checkpoint."""

    def __init__(self, spark: Any, topic: Topic, place: Path) -> None:
        self.spark, self.topic, self.checkpoint, self.out = spark, topic, place / "checkpoint", place / "out"

    def run(self) -> None:
        """Copy what is there."""
        frame = self.spark.readStream.format("tapelog").options(**self.topic.options(startingOffsets="earliest")).load()
        sink = frame.writeStream.format("parquet").option("path", str(self.out))
        query = sink.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(60)


def test_a_query_whose_next_offsets_retention_took_says_so(spark: Any, topic: Topic, tmp_path: Path) -> None:
    copy = Copy(spark, topic, tmp_path)
    topic.write(10, partition=0)
    copy.run()
    topic.write(10, 10, partition=0)
    delete_up_to(topic, 15)
    with pytest.raises(Exception) as caught:
        copy.run()
    lines = told(caught.value)
    assert len(lines) <= LINES_MAX and topic.name in "\n".join(lines) and "failOnDataLoss" in "\n".join(lines), lines


def test_a_checkpoint_of_another_source_is_named(spark: Any, topic: Topic, tmp_path: Path) -> None:
    copy = Copy(spark, topic, tmp_path)
    topic.write(10)
    copy.run()
    for file in sorted((copy.checkpoint / "offsets").glob("[0-9]*")):
        lines = file.read_text().splitlines()
        file.write_text("\n".join([*lines[:-1], '{"files": 7}']))
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    topic.write(10, 10)
    with pytest.raises(Exception) as caught:
        copy.run()
    told_lines = told(caught.value)
    assert len(told_lines) <= LINES_MAX and "checkpointLocation" in "\n".join(told_lines), told_lines


def test_a_deleted_checkpoint_is_a_new_query_that_begins_as_its_options_say(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    copy = Copy(spark, topic, tmp_path)
    topic.write(10)
    copy.run()
    shutil.rmtree(copy.checkpoint)
    shutil.rmtree(copy.out)
    copy.run()
    assert spark.read.parquet(str(copy.out)).count() == 10
