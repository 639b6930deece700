"""History straight from storage: a real broker, a real S3 server (moto), a real Spark; rows as Fetch gives them."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.support.http_here import HttpHere
from tests.support.s3 import BUCKET, ENVIRONMENT, S3Server
from tests.support.waiting import until

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytest.importorskip("moto", reason="needs moto")

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
TIERED = {
    "remote.storage.enable": "true",
    "segment.bytes": "1048576",
    "index.interval.bytes": "4096",
    "local.retention.bytes": "1",
    "retention.ms": "-1",
}
PADDING = b"." * 990


class Stage:
    """Two topics, most of both in the store alone: numbered records, and transactions of which some were aborted."""

    def __init__(self, broker: Broker, s3: S3Server) -> None:
        self.broker, self.s3 = broker, s3
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        new = [NewTopic("plain", 2, 1, config=TIERED), NewTopic("transactional", 1, 1, config=TIERED)]
        for future in admin.create_topics(new).values():
            future.result(30)
        self.write(0, 8000)
        self._transact()
        for topic in ("plain-0", "plain-1", "transactional-0"):
            until(lambda t=topic: self.local_start(t) > 1500, f"{topic} in the store", seconds=90)

    def local_start(self, directory: str) -> int:
        return min((int(path.stem) for path in self.broker.data_dir.glob(f"**/{directory}/*.log")), default=-1)

    def write(self, first: int, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "linger.ms": 20, "batch.num.messages": 50})
        for number in range(first, first + count):
            producer.produce("plain", b"%08d" % number + PADDING, partition=number % 2)
            producer.poll(0)
        assert producer.flush(60) == 0

    def _transact(self) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "transactional.id": "t"})
        producer.init_transactions(30)
        for number in range(6):
            producer.begin_transaction()
            for one in range(600):
                producer.produce("transactional", b"%04d-%04d" % (number, one) + PADDING, partition=0)
            assert producer.flush(60) == 0
            (producer.abort_transaction if number % 2 else producer.commit_transaction)(30)

    def options(self, topic: str, *, tier: bool, **more: object) -> dict[str, str]:
        given: dict[str, object] = {"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": topic}
        if tier:
            given |= {
                "tier.url": f"s3://{BUCKET}/spark",
                "tier.endpoint": self.s3.endpoint,
                "tier.region": "us-east-1",
                "tier.accessKeyId": "test",
                "tier.secretAccessKey": "test",
            }
        return {name: str(value) for name, value in (given | {n.replace("_", "."): v for n, v in more.items()}).items()}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with S3Server() as s3, Broker(settings=SETTINGS | s3.settings("spark"), env=ENVIRONMENT) as broker:
        yield Stage(broker, s3)


def read(spark: Any, stage: Stage, topic: str, *, tier: bool, **more: object) -> list[Any]:
    frame = spark.read.format("tapelog").options(**stage.options(topic, tier=tier, **more)).load()
    return sorted(frame.collect(), key=lambda row: (row.partition, row.offset))


def pieces(stage: Stage, topic: str, **more: object) -> list[Any]:
    """What a plan on the driver hands to tasks."""
    from tapelog.spark.source.datasource import TapelogDataSource

    source = TapelogDataSource(stage.options(topic, tier=True, **more))
    return [piece for task in source.reader(source.schema()).partitions() for piece in task.value]


def test_rows_from_storage_are_those_of_fetch(spark: Any, stage: Stage) -> None:
    planned = pieces(stage, "plain", includeHeaders="true")
    assert sum(piece.size for piece in planned if piece.history is not None) > 3000
    assert len([piece for piece in planned if piece.history is None]) == 2  # the tails
    mine = read(spark, stage, "plain", tier=True, includeHeaders="true")
    assert mine == read(spark, stage, "plain", tier=False, includeHeaders="true")
    assert len(mine) == 8000


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactions_that_were_aborted_are_left_out_or_not(spark: Any, stage: Stage, isolation: str) -> None:
    given = {"kafka.isolation.level": isolation, "minPartitions": 7}
    mine = read(spark, stage, "transactional", tier=True, **given)
    assert mine == read(spark, stage, "transactional", tier=False, **given)
    assert len(mine) == (1800 if isolation == "read_committed" else 3600)


def test_a_stream_goes_from_storage_to_the_tail_while_both_move(spark: Any, stage: Stage, tmp_path: Path) -> None:
    given = stage.options("plain", tier=True, startingOffsets="earliest", maxOffsetsPerTrigger=3000)
    out, seen = str(tmp_path / "out"), 8000

    def run() -> None:
        frame = spark.readStream.format("tapelog").options(**given).load()
        sink = frame.selectExpr("partition", "offset", "cast(substr(value, 1, 8) as string) number")
        writing = sink.writeStream.format("parquet").option("path", out)
        query = writing.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        assert query.awaitTermination(120) and query.exception() is None

    run()
    stage.write(seen, 1500)
    run()
    rows = spark.read.parquet(out).collect()
    assert sorted(int(row.number) for row in rows) == list(range(seen + 1500))


def test_a_lake_table_is_filled_from_storage_and_then_follows_the_tail(
    spark: Any, stage: Stage, tmp_path: Path
) -> None:
    from tapelog.spark import lake

    table = lake.table(f"file://{tmp_path}/plain", format="parquet")
    there = spark.read.format("tapelog").options(**stage.options("plain", tier=False)).load().count()
    query = lake.archive(
        spark,
        stage.options("plain", tier=True, maxOffsetsPerTrigger=4000),
        table,
        name="plain",
        checkpoint=str(tmp_path / "c"),
        trigger={"processingTime": "1 second"},
    )
    try:
        assert lake.read(spark, table).count() == there
        stage.write(there, 500)
        query.processAllAvailable()
    finally:
        query.stop()
    rows = lake.read(spark, table).selectExpr("cast(substr(value, 1, 8) as string) number").collect()
    assert sorted(int(row.number) for row in rows) == list(range(there + 500))


def refused(stage: Stage, **given: str) -> list[str]:
    from tapelog.spark.source.errors import TapelogError

    with pytest.raises(TapelogError) as error:
        pieces(stage, "plain", **given)
    lines = str(error.value).splitlines()
    assert 2 <= len(lines) <= 3 and "hunter2" not in str(error.value), lines
    return lines


def test_a_bucket_that_does_not_exist_is_told(stage: Stage) -> None:
    lines = refused(stage, **{"tier.url": "s3://nowhere/spark"})
    assert "bucket" in lines[0] and "tier.url" in lines[1] and "tapelog.tier.url" in lines[2]


def test_credentials_that_are_refused_are_told(stage: Stage) -> None:
    def forbid(request: BaseHTTPRequestHandler) -> None:
        body = b"<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>"
        request.send_response(403)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with HttpHere(forbid) as server:
        lines = refused(stage, **{"tier.endpoint": server.endpoint, "tier.secretAccessKey": "hunter2"})
    assert "credentials" in lines[0] and "tier.secretAccessKey" in lines[2]


def test_a_prefix_with_nothing_in_it_leaves_everything_to_fetch(stage: Stage) -> None:
    assert all(piece.history is None for piece in pieces(stage, "plain", **{"tier.url": f"s3://{BUCKET}/other"}))


def test_a_leader_begun_anew_shares_what_is_up_there(stage: Stage) -> None:
    before = pieces(stage, "plain")
    stage.broker.kill()
    stage.broker.restart()
    after = pieces(stage, "plain")
    assert sum(piece.size for piece in after if piece.history) >= sum(piece.size for piece in before if piece.history)
