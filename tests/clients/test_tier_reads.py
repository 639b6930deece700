"""librdkafka reads back what only an S3 server has: everything, by time, committed only, from whoever leads.

A real S3 server (moto) and real nodes. Segments are as small as they may be, and leave the disks as soon as they can.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker, Cluster
from tests.clients.cluster_clients import QUIET, leader
from tests.support.names import Fresh
from tests.support.s3 import ENVIRONMENT, S3Server
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
TIERED = {
    "remote.storage.enable": "true",
    "segment.bytes": "1048576",
    "local.retention.bytes": "1",
    "retention.ms": "-1",  # the records say that they are years old
}
BEGAN_MS = 1_700_000_000_000
PATTERN = bytes(range(256)) * 5


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


def create(bootstrap: str, topic: str, partitions: int, replicas: list[list[int]] | None = None) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    if replicas is None:
        new = NewTopic(topic, partitions, 1, config=TIERED)
    else:
        new = NewTopic(topic, partitions, replica_assignment=replicas, config=TIERED)
    admin.create_topics([new])[topic].result(20)


def whole(cluster: Cluster, topic: str) -> None:
    """Wait until the partition has all its replicas in sync."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})

    def in_sync() -> bool:
        found = admin.list_topics(topic, timeout=30).topics[topic].partitions
        return len(found) == 1 and len(found[0].isrs) == 3

    until(in_sync, f"{topic} in sync everywhere")


def value(number: int) -> bytes:
    return b"%08d" % number + PATTERN[number % 256 : number % 256 + 992]


def write(bootstrap: str, topic: str, first: int, count: int, partitions: int = 1) -> None:
    """Numbered records of a kilobyte, a second apart by their timestamps, in turn to the partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20, **QUIET})
    for number in range(first, first + count):
        while True:
            try:
                producer.produce(
                    topic, value(number), partition=number % partitions, timestamp=BEGAN_MS + 1000 * number
                )
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def local_start(directory: Path, topic: str, partition: int = 0) -> int:
    """Where a node's own log begins, by its files."""
    found = [int(path.stem) for path in directory.glob(f"**/{topic}-{partition}/*.log")]
    return min(found, default=-1)


def read(bootstrap: str, topic: str, partition: int, count: int, **settings: str) -> list[bytes]:
    """So many values from the beginning of a partition on."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False, **QUIET, **settings}
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes] = []

    def more() -> bool:
        for message in consumer.consume(1000, 1.0):
            assert message.error() is None, message.error()
            values.append(message.value() or b"")
        return len(values) >= count

    until(more, f"{count} records of {topic}-{partition}")
    consumer.close()
    return values


class Stage:
    """Two topics of one broker: numbered records in two partitions, and transactions of which every other one was
    aborted. Most of both is in the store alone."""

    def __init__(self, broker: Broker, plain: str, transactional: str) -> None:
        self.broker = broker
        self.plain = plain
        self.transactional = transactional
        create(broker.bootstrap, plain, 2)
        create(broker.bootstrap, transactional, 1)
        write(broker.bootstrap, plain, 0, 10_000, 2)
        self.kept = self._transact()
        for topic, partition, offset in ((plain, 0, 3000), (plain, 1, 3000), (transactional, 0, 4300)):
            until(
                lambda t=topic, p=partition, o=offset: local_start(broker.data_dir, t, p) > o,
                f"{topic}-{partition}: local segments gone",
            )

    def _transact(self) -> list[bytes]:
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "transactional.id": self.transactional, **QUIET}
        )
        producer.init_transactions(30)
        kept: list[bytes] = []
        for round_number in range(6):
            producer.begin_transaction()
            values = [value(round_number * 1000 + number) for number in range(700)]
            for one in values:
                producer.produce(self.transactional, one, partition=0)
                producer.poll(0)
            assert producer.flush(30) == 0
            if round_number % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
                kept += values
        write(self.broker.bootstrap, self.transactional, 50_000, 1500)
        return kept


@pytest.fixture(scope="module")
def stage(s3: S3Server) -> Iterator[Stage]:
    with Broker(settings=SETTINGS | s3.settings("alone"), env=ENVIRONMENT) as running:
        yield Stage(running, "plain", "transactional")


def test_everything_is_read_back_twice(stage: Stage) -> None:
    for _ in range(2):
        for partition in range(2):
            expected = [value(number) for number in range(partition, 10_000, 2)]
            assert read(stage.broker.bootstrap, stage.plain, partition, 5000) == expected


def test_records_are_found_by_time(stage: Stage) -> None:
    consumer = Consumer({"bootstrap.servers": stage.broker.bootstrap, "group.id": "none", **QUIET})
    asked = [TopicPartition(stage.plain, 0, BEGAN_MS + 1000 * number) for number in (0, 3, 2000, 9_900)]
    found = [consumer.offsets_for_times([one], timeout=20)[0].offset for one in asked]
    assert found == [0, 2, 1000, 4950]
    assert consumer.get_watermark_offsets(TopicPartition(stage.plain, 0), timeout=20) == (0, 5000)
    consumer.close()


def test_aborted_records_are_left_out_though_only_the_store_has_them(stage: Stage) -> None:
    count, settings = len(stage.kept), {"isolation.level": "read_committed"}
    assert read(stage.broker.bootstrap, stage.transactional, 0, count + 1500, **settings)[:count] == stage.kept


def test_a_restarted_node_reads_what_it_had_let_go_of(stage: Stage) -> None:
    stage.broker.kill()
    stage.broker.restart()
    assert read(stage.broker.bootstrap, stage.plain, 0, 5000) == [value(number) for number in range(0, 10_000, 2)]


def test_a_replica_that_lost_its_disk_begins_in_the_store_and_can_lead(s3: S3Server, fresh: Fresh) -> None:
    topic = fresh()
    with Cluster(nodes=3, settings=SETTINGS | s3.settings("three"), env=ENVIRONMENT) as cluster:
        create(cluster.bootstrap, topic, 1, [[1, 2, 3]])
        whole(cluster, topic)
        write(cluster.bootstrap, topic, 0, 4000)
        for node in cluster.nodes:
            until(lambda n=node: local_start(n.directory, topic) > 1000, f"node {node.number} lets go")
        second = cluster.node(2)
        second.stop()
        for path in second.directory.glob(f"**/{topic}-0"):
            shutil.rmtree(path)
        write(cluster.bootstrap, topic, 4000, 500)
        second.start()
        whole(cluster, topic)
        assert local_start(second.directory, topic) > 1000, "it did not copy what the store has"
        cluster.node(1).kill()
        until(lambda: leader(cluster, topic) == 2, "the new replica leads")
        assert re.search("in the tier", second.log())
        assert read(cluster.bootstrap, topic, 0, 4500) == [value(n) for n in range(4500)]
        write(cluster.bootstrap, topic, 4500, 100)
        assert read(cluster.bootstrap, topic, 0, 4600)[-100:] == [value(n) for n in range(4500, 4600)]
