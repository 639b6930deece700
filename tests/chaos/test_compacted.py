"""kill -9 while a table is written and compacted: every key keeps its last value, every record its offset.

TAPELOG_CHAOS_KILLS (6 here) and TAPELOG_CHAOS_SEED choose how many and which points.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.chaos.application import QUICK
from tests.support.waiting import until

KILLS = int(os.environ.get("TAPELOG_CHAOS_KILLS", "6"))
SEED = int(os.environ.get("TAPELOG_CHAOS_SEED", "1"))
TOPIC, KEYS, RATE = "table", 30, 800
SETTINGS = {
    "log.cleaner.backoff.ms": 50,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.index.interval.bytes": 300,
    "log.index.size.max.bytes": 200,
}
CONFIG = {"cleanup.policy": "compact", "delete.retention.ms": "3600000"}


class Writer(threading.Thread):
    """Writes keys over and over, idempotently, whatever happens to the broker."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        settings = {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 0, **QUICK}
        self.producer = Producer({"bootstrap.servers": bootstrap, **settings})
        self.there: dict[int, tuple[bytes, bytes | None]] = {}
        self.expected: dict[bytes, bytes] = {}
        self.failed: list[str] = []
        self.sent = 0
        self._chance = random.Random(SEED)
        self._stopping = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self._stopping.is_set():
            if self.sent >= int((time.monotonic() - began) * RATE) or self.sent - len(self.there) > 2000:
                self.producer.poll(0.005)
                continue
            key = b"k%d" % self._chance.randrange(KEYS)
            value = None if self._chance.random() < 0.1 else b"%d " % self.sent + b"x" * self._chance.randrange(80)
            self.producer.produce(TOPIC, value, key, partition=0, on_delivery=self._delivered)
            self.sent += 1
            self.expected.pop(key, None)
            if value is not None:
                self.expected[key] = value

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.there[message.offset() or 0] = (message.key() or b"", message.value())  # type: ignore[assignment]

    def finish(self) -> None:
        """Wait for the last acknowledgement."""
        self._stopping.set()
        self.join(20)
        assert self.producer.flush(60) == 0
        assert self.failed == []
        assert len(self.there) == self.sent


def found(bootstrap: str) -> dict[int, tuple[bytes, bytes | None]]:
    """What is in the log, by offset."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.partition.eof": True, **QUICK})
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    seen: dict[int, tuple[bytes, bytes | None]] = {}
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.1):
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF
                consumer.close()
                return seen
            seen[message.offset() or 0] = (message.key() or b"", message.value())  # type: ignore[assignment]
    raise AssertionError("no end")


@pytest.mark.timeout(400 + 15 * KILLS)
def test_a_compacted_table_survives_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    broker = Broker(data=tmp_path / "data", settings=SETTINGS)
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=CONFIG)])[TOPIC].result(20)
    writer = Writer(broker.bootstrap)
    writer.start()
    try:
        for _ in range(KILLS):
            threading.Event().wait(
                chance.uniform(3.0, 7.0)
            )  # the random point under load: a checkpoint comes every 5 s
            broker.kill()
            broker.start()
            acknowledged = len(writer.there)
            until(lambda mark=acknowledged: len(writer.there) > mark, "writing goes on")  # type: ignore[misc]
        writer.finish()
        until(lambda: len(found(broker.bootstrap)) < writer.sent / 2, "the log was compacted")
        for _ in range(2):
            left = found(broker.bootstrap)
            assert left.items() <= writer.there.items(), "a record is not where it was acknowledged"
            table: dict[bytes, bytes] = {}
            for _, (key, value) in sorted(left.items()):
                table.pop(key, None)
                if value is not None:
                    table[key] = value
            assert table == writer.expected
            broker.restart()
        print(f"seed {SEED}: {KILLS} kills, {writer.sent} records, {len(left)} left")
    finally:
        broker.kill()
