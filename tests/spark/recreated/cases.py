"""One case each: a topic is used, deleted, made anew with other records, and used again by the same Spark session.

The first use leaves the old topic's metadata in Spark's Python workers, which are used again by the second one.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tapelog.client.partitioner import partition_for_key
from tests.spark.conftest import Topic, limits_are_told
from tests.support.markers import nothing_open
from tests.support.waiting import until

OLD: Final = 100
"""Records of the first topic."""
QUIET_S: Final = 8.0
"""How long a running query may read nothing before its rows are counted."""
RUN_S: Final = 120


@dataclass(frozen=True)
class Outcome:
    """What was read or written of the new topic's records."""

    wanted: int
    got: int
    twice: int = 0
    error: str = ""
    misplaced: int = 0
    """Written to another partition than that of their key."""

    def __str__(self) -> str:
        parts = [f"error: {self.error}"] if self.error else []
        if self.got or not self.error:
            passed_over = "" if self.error or self.got == self.wanted else ", the rest passed over"
            parts.append(f"{self.got} of {self.wanted}{passed_over}")
        parts += [f"{self.twice} twice"] if self.twice else []
        parts += [f"{self.misplaced} not in the partition of their key"] if self.misplaced else []
        return ", ".join(parts)


def make_anew(topic: Topic, partitions: int) -> None:
    """Delete the topic and create another one of its name."""
    admin = AdminClient({"bootstrap.servers": topic.bootstrap, "log_level": 0})
    admin.delete_topics([topic.name])[topic.name].result(30)
    over = time.monotonic() + 30
    while True:
        try:
            admin.create_topics([NewTopic(topic.name, partitions, 1)])[topic.name].result(30)
            return
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS or time.monotonic() > over:
                raise
            time.sleep(0.05)


def fill(topic: Topic, count: int, name: str, partitions: int) -> set[bytes]:
    """Records `name`0, `name`1, …, dealt out to the partitions in turn; their values."""
    producer = Producer({"bootstrap.servers": topic.bootstrap, "linger.ms": 5})
    values = [b"%s%d" % (name.encode(), number) for number in range(count)]
    for number, value in enumerate(values):
        producer.produce(topic.name, value, partition=number % partitions)
    assert producer.flush(60) == 0
    return set(values)


def _is_led(topic: Topic) -> bool:
    """Whether its partitions answer: Kafka says for a moment that a topic made anew is led by nobody."""
    admin = AdminClient({"bootstrap.servers": topic.bootstrap, "log_level": 0})
    partitions = admin.list_topics(topic.name, timeout=20).topics[topic.name].partitions
    asked = admin.list_offsets({TopicPartition(topic.name, number): OffsetSpec.latest() for number in partitions})
    return all(future.exception(20) is None for future in asked.values())


def first_line(error: BaseException | str) -> str:
    """What an error says, without frames."""
    text = re.sub(r"^\[STREAM_FAILED\] .* terminated with exception: ", "", str(error))
    for mark in ("TapelogError: ", "IllegalStateException: ", "TimeoutException: ", "OffsetOutOfRangeException: "):
        if mark in text:
            return text.split(mark, 1)[1].splitlines()[0].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0]


class Reading:
    """Rows of a streaming query on one checkpoint."""

    def __init__(self, spark: Any, source: str, topic: Topic, checkpoint: Path, **options: object) -> None:
        self.spark, self.source, self.topic, self.checkpoint = spark, source, topic, checkpoint
        self.options = topic.options(startingOffsets="earliest", **options)
        self.seen: Counter[bytes] = Counter()

    def start(self, **trigger: Any) -> Any:
        frame = self.spark.readStream.format(self.source).options(**self.options).load()
        writer = frame.select("value").writeStream.foreachBatch(self._keep)
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start()

    def run(self) -> str:
        """Everything that is there now; the error, if there was one."""
        query = self.start(availableNow=True)
        try:
            assert query.awaitTermination(RUN_S), "the query does not end"
        except AssertionError:
            query.stop()
            return f"not done within {RUN_S} s"
        except Exception as error:
            return first_line(error)
        return ""

    def outcome(self, new: set[bytes], error: str) -> Outcome:
        found = {value: times for value, times in self.seen.items() if value in new}
        return Outcome(len(new), len(found), sum(times > 1 for times in found.values()), error)

    def _keep(self, frame: Any, batch: int) -> None:
        self.seen.update(bytes(row.value) for row in frame.collect())


def batch(
    spark: Any, source: str, topic: Topic, place: Path, *, partitions: int, count: int, **options: Any
) -> Outcome:
    """A batch read, before and after."""

    def rows() -> list[bytes]:
        frame = spark.read.format(source).options(**topic.options(**options)).load()
        return [bytes(row.value) for row in frame.select("value").collect()]

    fill(topic, OLD, "old", 2)
    assert len(rows()) == OLD
    make_anew(topic, partitions)
    new = fill(topic, count, "new", partitions)
    try:
        found = Counter(rows())
    except Exception as error:
        return Outcome(count, 0, 0, first_line(error))
    return Outcome(count, len(found.keys() & new), sum(times > 1 for times in found.values()))


def new_stream(
    spark: Any, source: str, topic: Topic, place: Path, *, partitions: int, count: int, **options: Any
) -> Outcome:
    """A stream with a new checkpoint, after another one has read the old topic."""
    fill(topic, OLD, "old", 2)
    assert Reading(spark, source, topic, place / "first", **options).run() == ""
    make_anew(topic, partitions)
    new = fill(topic, count, "new", partitions)
    reading = Reading(spark, source, topic, place / "second", **options)
    return reading.outcome(new, reading.run())


def restarted(
    spark: Any, source: str, topic: Topic, place: Path, *, partitions: int, count: int, **options: Any
) -> Outcome:
    """A stream that goes on with its checkpoint, the topic made anew while it did not run."""
    fill(topic, OLD, "old", 2)
    reading = Reading(spark, source, topic, place, **options)
    assert reading.run() == ""
    make_anew(topic, partitions)
    new = fill(topic, count, "new", partitions)
    runs = 1 if limits_are_told() else 2  # before PySpark 4.2 a run is one batch, and the first has no rows
    return reading.outcome(new, next((error for _ in range(runs) if (error := reading.run())), ""))


def running(
    spark: Any, source: str, topic: Topic, place: Path, *, partitions: int, count: int, **options: Any
) -> Outcome:
    """A stream that runs while the topic is made anew."""
    fill(topic, OLD, "old", 2)
    reading = Reading(spark, source, topic, place, **options)
    query = reading.start(processingTime="500 milliseconds")
    try:
        _wait(query, lambda: len(reading.seen) == OLD)
        with _between_triggers(query):
            make_anew(topic, partitions)
        new = fill(topic, count, "new", partitions)
        error = _wait(query, lambda: len(reading.seen.keys() & new) == count)
        return reading.outcome(new, error)
    finally:
        query.stop()


def write(
    spark: Any, source: str, topic: Topic, place: Path, *, partitions: int, count: int, **options: Any
) -> Outcome:
    """A batch write into the topic, before and after."""

    def rows(name: str, number: int) -> None:
        frame = spark.range(number).selectExpr("cast(id as string) as key", f"concat('{name}', id) as value")
        told = {"kafka.bootstrap.servers": topic.bootstrap, "topic": topic.name, **options}
        frame.repartition(2).write.format(source).options(**told).mode("append").save()

    rows("old", OLD)
    make_anew(topic, partitions)
    failed = ""
    try:
        rows("new", count)
    except Exception as error:
        failed = first_line(error)
    found = records(topic, partitions)
    values = Counter(value for _, _, value in found)
    misplaced = sum(partition_for_key(key, partitions) != partition for partition, key, _ in found)
    return Outcome(count, len(values), sum(times > 1 for times in values.values()), failed, misplaced)


def records(topic: Topic, partitions: int) -> list[tuple[int, bytes, bytes]]:
    """Partition, key and value of all committed records."""
    until(lambda: _is_led(topic), f"{topic.name} has leaders")
    nothing_open(topic.bootstrap, topic.name)
    consumer = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": "nobody", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic.name, number, 0) for number in range(partitions)])
    found: list[tuple[int, bytes, bytes]] = []
    ends: set[int] = set()
    try:
        while len(ends) < partitions:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                ends.add(message.partition())
            else:
                found.append((message.partition(), message.key(), message.value()))
    finally:
        consumer.close()
    return found


@contextlib.contextmanager
def _between_triggers(query: Any) -> Iterator[None]:
    """So that no batch is under way: nothing new is there, and the query waits for its next trigger."""
    _wait(query, lambda: not query.status["isTriggerActive"])
    yield


def _wait(query: Any, true: Callable[[], bool]) -> str:
    """Until it is so, the query has ended, or QUIET_S have passed; the error, if there was one."""
    over = time.monotonic() + QUIET_S
    while time.monotonic() < over and query.isActive and not true():
        time.sleep(0.05)
    return "" if query.exception() is None else first_line(query.exception())
