"""One checkpoint, two sources: a query goes from Spark's own Kafka source to ours and back; no row is lost or twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.spark.conftest import Topic, connector_jars, connector_replays, limits_are_told

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.skipif(
    not connector_jars(), reason="needs Spark's Kafka connector (python -m bench.spark.connector fetches it)"
)

SWAPS = 10
ROWS = 40
"""Written before each run of the query."""
ROWS_PER_BATCH = 25


class Query:
    """A query on one checkpoint whose source is named anew for each run; its rows by batch and place."""

    def __init__(self, spark: Any, topic: Topic, checkpoint: Path, **more: object) -> None:
        self.spark, self.topic, self.checkpoint = spark, topic, checkpoint
        self.options = topic.options(startingOffsets="earliest", maxOffsetsPerTrigger=ROWS_PER_BATCH, **more)
        self.batches: dict[int, Counter[tuple[int, int, bytes]]] = {}
        self.replayed: list[int] = []
        self._left = False
        """Whether the last batch was left without its commit."""

    def run(self, source: str) -> None:
        """Everything that is there now, in several batches. (Before PySpark 4.2, one that was left is a run.)"""
        for _ in range(2 if self._left and not limits_are_told() else 1):
            self._run(source)
        self._left = False

    def _run(self, source: str) -> None:
        frame = self.spark.readStream.format(source).options(**self.options).load()
        writer = frame.select("partition", "offset", "value").writeStream.foreachBatch(self._keep)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.exception() is None

    def _keep(self, frame: Any, batch: int) -> None:
        rows = Counter((row.partition, row.offset, bytes(row.value)) for row in frame.collect())
        if batch in self.batches:
            assert rows == self.batches[batch], f"batch {batch} is not what it was"
            self.replayed.append(batch)
        self.batches[batch] = rows

    def die_before_the_last_commit(self) -> None:
        """As if the driver had been killed after the sink and before its commit: the next run replays that batch."""
        commits = self.checkpoint / "commits"
        last = max((path for path in commits.glob("[0-9]*")), key=lambda path: int(path.name))
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)
        self._left = True

    def rows(self) -> Counter[tuple[int, int, bytes]]:
        """All of them, each as often as it was delivered in batches of different numbers."""
        return sum(self.batches.values(), Counter())


def more_partitions(topic: Topic, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": topic.bootstrap})
    admin.create_partitions([NewPartitions(topic.name, count)])[topic.name].result(30)


@pytest.mark.timeout(600)
def test_ten_swaps_on_one_checkpoint_lose_and_repeat_no_row(spark: Any, topic: Topic, tmp_path: Path) -> None:
    query = Query(spark, topic, tmp_path / "checkpoint")
    sources = ["kafka", "tapelog"]
    for number in range(SWAPS + 1):
        topic.write(ROWS, number * ROWS)
        if number == SWAPS // 2:
            more_partitions(topic, 4)  # read from its first offset by whichever source meets it
            topic.write(5, SWAPS * ROWS * 10, partition=3)
        query.run(sources[number % 2])
        if number % 3 == 1 if connector_replays() else number in (2, 4, 6):
            query.die_before_the_last_commit()  # the other source replays the batch; where Spark's cannot, only ours
    rows = query.rows()
    assert max(rows.values()) == 1, [row for row, times in rows.items() if times > 1]
    written = [*range((SWAPS + 1) * ROWS), *range(SWAPS * ROWS * 10, SWAPS * ROWS * 10 + 5)]
    assert Counter(value for _, _, value in rows.elements()) == Counter(b"v%d" % number for number in written)
    assert len(query.replayed) >= 3, query.replayed
    many = 2 if limits_are_told() else 1.5
    assert len(query.batches) >= SWAPS * many, "limits of both sources count, of ours from PySpark 4.2 on"
