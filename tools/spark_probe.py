"""What format("tapelog") does on the PySpark of this interpreter, feature by feature, as one line of JSON.

Run by tools/spark_versions.py with the Python of each version; `connect` asks the same of Spark Connect.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker

RECORDS = 300
YES = "yes"


class Probe:
    """A session, a topic with records, and questions."""

    def __init__(self, spark: Any, bootstrap: str) -> None:
        self.spark = spark
        self.given = {"kafka.bootstrap.servers": bootstrap, "subscribe": "probe", "startingOffsets": "earliest"}

    def stream(self, **more: str) -> Any:
        """A streaming read of the topic."""
        return self.spark.readStream.format("tapelog").options(**self.given, **more).load()

    def batch(self) -> str:
        """Does a batch read give every record?"""
        frame = self.spark.read.format("tapelog").options(**self.given).load()
        return _same(frame.count(), RECORDS)

    def available_now(self) -> str:
        """Does availableNow keep to a limit per trigger, or read everything in one batch?"""
        batches = self._until_done(self.stream(maxOffsetsPerTrigger="100"), availableNow=True)
        return f"{YES}, in batches" if batches > 1 else f"{YES}, in one batch"

    def once(self) -> str:
        """The older trigger."""
        self._until_done(self.stream(), once=True)
        return YES

    def processing_time(self) -> str:
        """The usual one."""
        with tempfile.TemporaryDirectory() as checkpoint:
            query = self._noop(self.stream(), checkpoint).trigger(processingTime="1 second").start()
            query.processAllAvailable()
            query.stop()
        return YES

    def continuous(self) -> str:
        """Refused by Spark, presumably."""
        return self._refused(continuous="1 second")

    def real_time(self) -> str:
        """Refused by Spark, presumably."""
        return self._refused(realTime="5 minutes")

    def filters(self) -> str:
        """Do comparisons of columns reach the source?"""
        try:
            self.spark.conf.get("spark.sql.python.filterPushdown.enabled")  # with a default it would give that
        except Exception:
            return "no: Spark has no such setting"
        self.spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
        frame = self.spark.read.format("tapelog").options(**self.given).load().where("partition = 1")
        found = {row.partition for row in frame.select("partition").collect()}
        return YES if found == {1} else f"wrong: {found}"

    def sink(self) -> str:
        """Does a batch write arrive?"""
        to = {"kafka.bootstrap.servers": self.given["kafka.bootstrap.servers"], "topic": "written"}
        rows = self.spark.range(50).selectExpr("cast(id as string) as value")
        rows.write.format("tapelog").options(**to).mode("append").save()
        back = self.spark.read.format("tapelog").options(**{**self.given, "subscribe": "written"}).load()
        return _same(back.count(), 50)

    def stream_sink(self) -> str:
        """Does a streaming write arrive?"""
        to = {"kafka.bootstrap.servers": self.given["kafka.bootstrap.servers"], "topic": "streamed"}
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = self.stream().select("key", "value").writeStream.format("tapelog").options(**to)
            query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
            query.awaitTermination()
        back = {**self.given, "subscribe": "streamed", "kafka.isolation.level": "read_committed"}
        return _same(self.spark.read.format("tapelog").options(**back).load().count(), RECORDS)

    def _noop(self, frame: Any, checkpoint: str) -> Any:
        return frame.writeStream.format("noop").option("checkpointLocation", checkpoint)

    def _until_done(self, frame: Any, **trigger: Any) -> int:
        with tempfile.TemporaryDirectory() as checkpoint:
            query = self._noop(frame, checkpoint).trigger(**trigger).start()
            query.awaitTermination()
            rows = [_rows_of(progress) for progress in query.recentProgress]
        assert sum(rows) == RECORDS, f"{sum(rows)} rows"
        return len([count for count in rows if count])

    def _refused(self, **trigger: str) -> str:
        with tempfile.TemporaryDirectory() as checkpoint:
            query = self._noop(self.stream(), checkpoint).trigger(**trigger).start()
            query.processAllAvailable()
            query.stop()
        return YES


QUESTIONS = (
    "batch",
    "available_now",
    "once",
    "processing_time",
    "continuous",
    "real_time",
    "filters",
    "sink",
    "stream_sink",
)


def _rows_of(progress: Any) -> int:
    """Over Connect, PySpark 4.0 does not sum them up."""
    return sum(source["numInputRows"] or 0 for source in progress["sources"])


def _same(found: int, wanted: int) -> str:
    return YES if found == wanted else f"wrong: {found} of {wanted}"


def _answer(question: Callable[[], str]) -> str:
    try:
        return question()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"no: {(lines or [type(error).__name__])[0][:160]}"


def _fill(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in ("probe", "written", "streamed")]).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce("probe", b"v%d" % number, partition=number % 2)
    assert producer.flush(30) == 0


def main() -> None:
    """Ask everything; print the answers."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    connect = sys.argv[1:] == ["connect"]
    builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false").getOrCreate()
    if not connect:
        spark.sparkContext.setLogLevel("OFF")
    with Broker() as broker:
        _fill(broker.bootstrap)
        probe = Probe(spark, broker.bootstrap)
        print("answers", json.dumps({name: _answer(getattr(probe, name)) for name in QUESTIONS}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
