"""Transactions that could time out, two-phase commit where brokers offer it, and versions in foreachBatch."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from tests.spark.conftest import Topic
from tests.spark.test_sink import Copy, said, to, values

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

CLEANER = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
LIMIT_MS = 1500
SLOW_SECONDS = 5
"""So long does the slow task go on once the other has written: far above the time limit of its transaction."""
SECONDS_MAX = 100


@pytest.fixture(scope="module")
def impatient() -> Iterator[str]:
    """A broker that ends transactions soon after their time limit."""
    from tapelog.testing import Broker

    with Broker(settings=CLEANER) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def two_phase() -> Iterator[str]:
    """The same, and it offers two-phase commit."""
    from tapelog.testing import Broker

    with Broker(settings=CLEANER | {"transaction.two.phase.commit.enable": "true"}) as broker:
        yield broker.bootstrap


class SlowCopy(Copy):
    """A copy, one of whose tasks takes its time after the others are done."""

    slow = True

    def rows(self) -> Any:
        from pyspark.sql.functions import col, udf

        frame = self.spark.readStream.format("tapelog").options(**self.source.options(startingOffsets="earliest"))
        keys = frame.load().select("partition", "value")
        if not self.slow:
            return keys.select("value")
        late = udf(partial(_late, self.target.bootstrap, self.target.name), "binary")
        return keys.select(late(col("partition"), col("value")).alias("value"))

    def run(self) -> None:
        sink = self.rows().writeStream.format("tapelog").options(**to(self.target, **self.more))
        query = sink.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(120)


def _late(bootstrap: str, target: str, partition: int, value: bytes) -> bytes:
    """The row of partition 1 takes longer than the other's transaction may."""
    if partition != 1:
        return value
    settings = {"bootstrap.servers": bootstrap, "group.id": "late", "isolation.level": "read_uncommitted"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
    consumer.subscribe([target])
    message = consumer.poll(SECONDS_MAX)
    consumer.close()
    if message is None or message.error():
        raise TimeoutError("the other task wrote nothing")
    time.sleep(SLOW_SECONDS)
    return value


def slow_copy(spark: Any, bootstrap: str, place: Path) -> SlowCopy:
    """One record in each of two partitions of the source; the second is slow."""
    source, target = Topic(bootstrap, 2), Topic(bootstrap, 3)
    source.write(1, 0, partition=0)
    source.write(1, 1, partition=1)
    return SlowCopy(spark, source, target, place, kafka__transaction__timeout__ms=LIMIT_MS)


def test_a_transaction_that_timed_out_stops_the_query_which_names_the_batch_and_loses_nothing(
    spark: Any, impatient: str, tmp_path: Path
) -> None:
    query = slow_copy(spark, impatient, tmp_path)
    told = said(query.run)
    assert "Batch 0 " in told and "kafka.transaction.timeout.ms" in told and str(LIMIT_MS) in told, told
    query.slow, query.more = False, {}  # with the time limit that there is unless told otherwise, as it was advised
    query.run()
    assert values(query.target) == Counter({b"v0": 1, b"v1": 1})


def test_two_phase_commit_is_used_where_it_is_offered_and_nothing_times_out(
    spark: Any, two_phase: str, tmp_path: Path
) -> None:
    query = slow_copy(spark, two_phase, tmp_path)
    query.run()
    assert values(query.target) == Counter({b"v0": 1, b"v1": 1})


def test_foreach_batch_writes_each_version_once(spark: Any, bootstrap: str, topic: Topic, tmp_path: Path) -> None:
    target, app, seen = Topic(bootstrap, 3), uuid.uuid4().hex, []

    def write(frame: Any, batch: int) -> None:
        seen.append(batch)
        options = to(target, txnAppId=app, txnVersion=batch)
        frame.select("key", "value").write.format("tapelog").options(**options).mode("append").save()

    def run() -> None:
        rows = spark.readStream.format("tapelog").options(
            **topic.options(startingOffsets="earliest", maxOffsetsPerTrigger=25)
        )
        sink = rows.load().writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = sink.trigger(availableNow=True).start()
        assert query.awaitTermination(120) and query.exception() is None

    topic.write(50)
    run()
    Copy(spark, topic, target, tmp_path).forget_last()
    run()
    assert max(Counter(seen).values()) == 2, "a batch came again"
    assert values(target) == Counter({b"v%d" % number: 1 for number in range(50)})
