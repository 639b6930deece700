"""Disks of real processes that fail: what lies elsewhere goes on, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker, Cluster
from tests.chaos.small_disks import SmallDisk, few_files, small_disk, unmount
from tests.support.waiting import until

TOPIC = "orders"
PARTITIONS = 6


class Load:
    """A producer that never stops; `acknowledged` has every value that was, by partition."""

    def __init__(self, bootstrap: str, size: int = 500, **settings: object) -> None:
        self._filling = b"x" * size
        self.acknowledged: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
        self.refused: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5, "message.timeout.ms": 2000, **settings}
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            value = b"%d-%s" % (number, self._filling)
            try:
                self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._told)
            except BufferError:
                pass
            self._producer.poll(0.002)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged[message.partition()].append(message.value())
        else:
            self.refused[message.partition()] += 1

    def goes_on(self, indexes: list[int], records: int = 20) -> None:
        """Wait until so many more records of each of these partitions are acknowledged."""
        before = {index: len(self.acknowledged[index]) for index in indexes}
        until(
            lambda: all(len(self.acknowledged[index]) >= before[index] + records for index in indexes),
            f"partitions {indexes} take records",
        )

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(30)


def make_topic(bootstrap: str, replicas: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, replicas)])[TOPIC].result(30)


def read(bootstrap: str, index: int) -> list[bytes]:
    """Every value of a partition, in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    try:
        until(lambda: consumer.get_watermark_offsets(TopicPartition(TOPIC, index), timeout=30), "a leader")
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, index), timeout=30)
        consumer.assign([TopicPartition(TOPIC, index, 0)])
        values: list[bytes] = []
        offset = 0
        while offset < end:
            for message in consumer.consume(min(500, end - offset), 1.0):
                assert message.error() is None, message.error()
                values.append(message.value())
                offset = message.offset() + 1
        return values
    finally:
        consumer.close()


def check(bootstrap: str, load: Load) -> None:
    """Everything acknowledged is there, in order; what was refused may be."""
    for index in range(PARTITIONS):
        found = iter(read(bootstrap, index))
        for value in load.acknowledged[index]:
            assert value in found, f"{value[:12]!r} of partition {index} is lost, or not in order"


def check_after_a_kill(broker: Broker, load: Load) -> None:
    """The same, once the broker was killed and has started again."""
    load.stop()
    broker.kill()
    broker.start()
    check(broker.bootstrap, load)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Where node 2 keeps half of its partitions."""
    made = small_disk(tmp_path / "place" / "node-2", tmp_path / "image")
    yield made
    made.unmount()


def _on(path: Path) -> list[int]:
    return sorted(int(found.name.rpartition("-")[2]) for found in path.glob(f"{TOPIC}-*"))


@pytest.mark.slow
def test_one_node_goes_on_with_the_directories_that_work(tmp_path: Path) -> None:
    disk = small_disk(tmp_path / "place" / "node-1", tmp_path / "image")
    broker = Broker(data=tmp_path / "data", log_dirs=[tmp_path / "place"])
    try:
        broker.start()
        make_topic(broker.bootstrap, 1)
        lost = _on(disk.path)
        kept = [index for index in range(PARTITIONS) if index not in lost]
        assert len(lost) == len(kept) == PARTITIONS // 2
        load = Load(broker.bootstrap)
        load.goes_on([*lost, *kept])
        disk.fail()
        until(lambda: all(load.refused[index] for index in lost), "the lost partitions refuse records")
        load.goes_on(kept, 50)
        assert "is offline" in broker.log()
        load.stop()
        broker.restart()
        found, acknowledged = read(broker.bootstrap, kept[0]), load.acknowledged[kept[0]]
        assert set(found) >= set(acknowledged), "nothing is lost"
        assert len(found) <= len(acknowledged) + load.refused[kept[0]], "what its client gave up may be there"
        broker.stop()
        disk.mend()
        broker.start()
        check(broker.bootstrap, load)
    finally:
        broker.close()
        disk.unmount()


@pytest.mark.slow
def test_in_a_cluster_others_lead_what_a_failed_directory_held(tmp_path: Path, disk: SmallDisk) -> None:
    with Cluster(3, data=tmp_path / "data", log_dirs=[tmp_path / "place"]) as cluster:
        make_topic(cluster.bootstrap, 3)
        until(lambda: len(_on(disk.path)) == PARTITIONS // 2, "half of its replicas are on that disk")
        lost = _on(disk.path)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        load = Load(cluster.bootstrap, **{"message.timeout.ms": 60_000})
        load.goes_on(list(range(PARTITIONS)))
        disk.fail()

        def isr(index: int) -> list[int]:
            return sorted(admin.list_topics(TOPIC, 10).topics[TOPIC].partitions[index].isrs)

        until(lambda: all(isr(index) == [1, 3] for index in lost), "others lead")
        load.goes_on(list(range(PARTITIONS)), 50)
        assert all(2 in isr(index) for index in range(PARTITIONS) if index not in lost), "and it keeps the rest"
        assert cluster.node(2).running
        cluster.node(2).stop()
        disk.mend()
        cluster.node(2).start()
        until(lambda: all(isr(index) == [1, 2, 3] for index in range(PARTITIONS)), "all are in sync again")
        load.stop()
        assert not any(load.refused.values()), load.refused
        check(cluster.bootstrap, load)
        cluster.node(1).kill()
        cluster.node(3).kill()


@pytest.mark.slow
def test_a_full_disk_refuses_records_keeps_the_rest_going_and_recovers_by_itself(tmp_path: Path) -> None:
    disk = small_disk(tmp_path / "disk", tmp_path / "image")
    settings = {"tapelog.disk.reserve.bytes": str(8 << 20), "log.retention.check.interval.ms": 1000}
    broker = Broker(data=disk.path / "data", settings=settings)
    try:
        broker.start()
        make_topic(broker.bootstrap, 1)
        load = Load(broker.bootstrap)
        everything = list(range(PARTITIONS))
        load.goes_on(everything)
        disk.fill(leave=2 << 20)
        until(lambda: all(load.refused.values()), "records are refused")
        assert "the disk is full" in broker.log()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("made-while-full", 1, 1)])["made-while-full"].result(30)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
        consumer.close()
        assert read(broker.bootstrap, 0), "reading goes on"
        disk.free()
        load.goes_on(everything)
        assert "there is room again" in broker.log()
        check_after_a_kill(broker, load)
    finally:
        broker.close()
        disk.unmount()


@pytest.mark.slow
@pytest.mark.parametrize(("how", "left"), [("records", 0), ("topic", 64 << 10)])  # the metadata needs room for a topic
def test_deletions_free_a_disk_that_another_program_has_filled(tmp_path: Path, how: str, left: int) -> None:
    disk = small_disk(tmp_path / "disk", tmp_path / "image", 128 << 20)
    broker = Broker(data=disk.path / "data", settings={"log.segment.delete.delay.ms": 100})
    try:
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        make_topic(broker.bootstrap, 1)
        admin.create_topics([NewTopic("old", 1, 1, config={"segment.bytes": str(1 << 20)})])["old"].result(30)
        old = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(20_000):
            old.produce("old", b"%d-" % number * 200)
            old.poll(0)
        assert old.flush(60) == 0
        load = Load(broker.bootstrap)
        load.goes_on(list(range(PARTITIONS)))
        disk.fill(leave=left)
        until(lambda: all(load.refused.values()), "records are refused")
        if how == "records":
            (gone,) = admin.delete_records([TopicPartition("old", 0, 19_000)]).values()
            assert gone.result(60).low_watermark == 19_000
        else:
            admin.delete_topics(["old"])["old"].result(60)
        load.goes_on(list(range(PARTITIONS)))
        disk.free()
        check_after_a_kill(broker, load)
    finally:
        broker.close()
        disk.unmount()


@pytest.mark.slow
def test_a_disk_that_can_hold_no_more_files_keeps_enough_of_them_to_go_on_and_to_start_again(tmp_path: Path) -> None:
    """Bytes are plenty, inodes are not: segments roll until none are left but those the node needs for itself."""
    disk = few_files(tmp_path / "disk", 5_000)
    settings = {"offsets.topic.num.partitions": 2, "log.segment.delete.delay.ms": 100}
    broker = Broker(data=disk / "data", settings=settings)
    try:
        broker.start()
        make_topic(broker.bootstrap, 1)
        load = Load(broker.bootstrap)
        load.goes_on(list(range(PARTITIONS)))
        ballast = disk / "ballast"
        ballast.mkdir()
        for number in range(os.statvfs(disk).f_ffree - 30):
            (ballast / str(number)).touch()
        until(lambda: all(load.refused.values()), "records are refused", seconds=60)
        assert "more files (inodes)" in broker.log()
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
        consumer.close()
        assert read(broker.bootstrap, 0), "reading goes on"
        broker.kill()
        broker.start()
        shutil.rmtree(ballast)
        load.goes_on(list(range(PARTITIONS)))
        load.stop()
        check(broker.bootstrap, load)
    finally:
        broker.close()
        unmount(disk)


@pytest.mark.slow
def test_rot_on_one_node_is_repaired_from_another(tmp_path: Path) -> None:
    settings = {"tapelog.scrub.interval.ms": 0, "tapelog.scrub.bytes.per.second": 100 << 20}
    with Cluster(3, data=tmp_path / "data", settings=settings) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        topic = NewTopic(TOPIC, PARTITIONS, 3, config={"segment.bytes": str(1 << 20)})
        admin.create_topics([topic])[TOPIC].result(30)
        load = Load(cluster.bootstrap, size=20_000)
        sealed = tmp_path / "data" / "node-2" / "logs" / f"{TOPIC}-1" / f"{0:020d}.log"
        until(lambda: len(list(sealed.parent.glob("*.log"))) > 1, "a segment is sealed")
        load.stop()
        cluster.node(2).stop()
        before = sealed.read_bytes()
        with open(sealed, "r+b") as rotten:
            rotten.seek(len(before) // 2)
            rotten.write(b"rot")
            os.fsync(rotten.fileno())
        cluster.node(2).start()
        until(lambda: "is repaired with what node" in cluster.node(2).log(), "it is repaired")
        assert sealed.read_bytes() == before
        check(cluster.bootstrap, load)
