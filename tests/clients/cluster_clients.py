"""Clients of several kinds for tests with a cluster: writers that tell what was acknowledged, readers, transactions."""

from __future__ import annotations

import subprocess
import threading
import time
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tapelog.testing import Cluster
from tests.clients.programs import BUILT, java
from tests.support.waiting import until

PARTITIONS = 3
RATE = 300
QUIET = {"log_level": 0}


class Writer(Protocol):
    """`acked`: number → (partition, offset). `failed`: what the client gave up, and why."""

    acked: dict[int, tuple[int, int]]
    failed: list[str]

    def finish(self) -> None: ...


class LibrdkafkaWriter:
    """librdkafka, idempotent."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acked: dict[int, tuple[int, int]] = {}
        self.failed: list[str] = []
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "acks": "all", **QUIET}
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number, begun = 0, time.monotonic()
        while not self._stop.is_set():
            if number < (time.monotonic() - begun) * RATE:
                self._send(number)
                number += 1
            self._producer.poll(0.002)
        self._producer.flush(30)

    def _send(self, number: int) -> None:
        def told(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failed.append(f"{number}: {error}")
                return
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None
            self.acked[number] = partition, offset

        self._producer.produce(self._topic, str(number).encode(), partition=number % PARTITIONS, on_delivery=told)

    def finish(self) -> None:
        """Stop sending; wait for what is under way."""
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


class ProgramWriter:
    """The Java client or franz-go, in a process of its own (Life.java, life.go)."""

    def __init__(self, command: list[str], bootstrap: str, topic: str) -> None:
        self.acked: dict[int, tuple[int, int]] = {}
        self.failed: list[str] = []
        words = [*command, "write", bootstrap, topic, str(PARTITIONS), "w", str(RATE)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, *rest = line.split()
            if word == "ack":
                self.acked[int(rest[0])] = int(rest[1]), int(rest[2])
            elif word == "fail":
                self.failed.append(line.strip())

    def finish(self) -> None:
        """Its standard input ends, and so does it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._thread.join(30)


def writer(kind: str, bootstrap: str, topic: str) -> Writer:
    """A client of this kind, writing."""
    if kind == "java":
        return ProgramWriter(java("Life"), bootstrap, topic)
    if kind == "franz-go":
        return ProgramWriter([str(BUILT / "go-checks"), "life"], bootstrap, topic)
    return LibrdkafkaWriter(bootstrap, topic)


def everything(bootstrap: str, topic: str, level: str = "read_uncommitted") -> dict[int, list[bytes]]:
    """What the topic holds now, per partition, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-everything",
            "enable.auto.commit": False,
            "isolation.level": level,
            **QUIET,
        }
    )
    places = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    ends = {one.partition: consumer.get_watermark_offsets(one, timeout=20)[1] for one in places}
    consumer.assign(places)
    found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}

    def read() -> bool:
        for message in consumer.consume(1000, 0.2):
            assert message.error() is None, message.error()
            partition, value = message.partition(), message.value()
            assert partition is not None and value is not None
            found[partition].append(value)
        positions = {one.partition: one.offset for one in consumer.position(places)}
        return all(positions[number] >= end or end == 0 for number, end in ends.items())

    until(read, f"{topic} read to its ends {ends}")
    consumer.close()
    return found


def whole(cluster: Cluster, topic: str) -> None:
    """Wait until every partition has all its replicas in sync."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})

    def in_sync() -> bool:
        found = admin.list_topics(topic, timeout=30).topics[topic].partitions
        return len(found) == PARTITIONS and all(len(one.isrs) == 3 for one in found.values())

    until(in_sync, f"{topic} in sync everywhere")


def leader(cluster: Cluster, topic: str) -> int:
    """Who leads partition 0."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    return int(admin.list_topics(topic, timeout=30).topics[topic].partitions[0].leader)


def exactly_once(found: dict[int, list[bytes]], acked: dict[int, tuple[int, int]]) -> None:
    """Every acknowledged record is where its acknowledgement says, once, in the order it was sent."""
    for number, (partition, offset) in acked.items():
        assert found[partition][offset].split()[-1] == str(number).encode(), (number, partition, offset)
    for partition, values in found.items():
        numbers = [int(value.split()[-1]) for value in values]
        assert numbers == sorted(set(numbers)), f"partition {partition} is out of order or has something twice"


class GroupReader:
    """A member of a group, in a thread."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.got: list[bytes] = []
        self.errors: list[str] = []
        self._stop = threading.Event()
        settings = {"auto.offset.reset": "earliest", "session.timeout.ms": 6000, "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **settings, **QUIET})
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                if not error.retriable() and error.code() != KafkaError._PARTITION_EOF:
                    self.errors.append(str(error))
                continue
            value = message.value()
            assert value is not None
            self.got.append(value)
        self._consumer.close()

    def finish(self) -> None:
        """Leave the group."""
        self._stop.set()
        self._thread.join(20)


def transact(producer: Producer, topic: str, values: list[bytes], *, abort: bool) -> bool:
    """One transaction, tried until it has ended as it should; whether it was committed."""
    deadline = time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline
        try:
            producer.begin_transaction()
            for part, value in enumerate(values):
                producer.produce(topic, value, partition=part)
            if abort:
                producer.flush(20)
                producer.abort_transaction(20)
                return False
            _patiently(lambda: producer.commit_transaction(20))
            return True
        except KafkaException as error:
            assert error.args[0].txn_requires_abort(), error
            _patiently(lambda: producer.abort_transaction(20))


def _patiently(act: object) -> None:
    assert callable(act)
    for _ in range(20):
        try:
            act()
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
    raise AssertionError("the transaction did not end")
