"""librdkafka and a compacted topic: the same table before, during and after the cleaner has been at it.

A broker of its own, with a cleaner that does not wait. Transactions, aborted ones among them, tombstones, and a
kill -9 in between.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tapelog.log.checkpoints import parse_offsets
from tapelog.testing import Broker
from tests.support.markers import nothing_open
from tests.support.tape import Tape
from tests.support.waiting import PATIENCE_S, until

SETTINGS = {
    "log.cleaner.backoff.ms": 200,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.index.interval.bytes": 300,
    "log.index.size.max.bytes": 400,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
"""Segments roll when their index is full: every 10 kB or so."""
TABLE = {"cleanup.policy": "compact", "delete.retention.ms": "60000"}
KEYS = 40
Row = tuple[int, str, str | None]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings=SETTINGS) as running:
        yield running


def create(broker: Broker, topic: str, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, 1, 1, config={**TABLE, **settings})])[topic].result(20)


def let_clean(broker: Broker, topic: str) -> None:
    """Records may be compacted however young they are."""
    entry = ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(20)


def rows(broker: Broker, topic: str) -> list[Row]:
    """Everything that a read_committed consumer sees, from the beginning; committed transactions whole."""
    nothing_open(broker.bootstrap, topic)
    settings = {"group.id": "unused", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "check.crcs": True, **settings})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[Row] = []
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.1):
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                consumer.close()
                return found
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            found.append((message.offset() or 0, key.decode(), value.decode() if isinstance(value, bytes) else None))
    raise AssertionError(f"no end after {len(found)} records")


def table(found: list[Row]) -> dict[str, str]:
    """What a consumer makes of it."""
    made: dict[str, str] = {}
    for _, key, value in found:
        if value is None:
            made.pop(key, None)
        else:
            made[key] = value
    return made


class Writer:
    """Writes the table, most of it in transactions, some of which are aborted."""

    def __init__(self, broker: Broker, topic: str) -> None:
        settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0, "linger.ms": 2}
        self.plain = Producer({**settings, "enable.idempotence": True})
        self.transactional = Producer({**settings, "transactional.id": f"{topic}-writer"})
        self.transactional.init_transactions(20)
        self.topic = topic
        self.chance = random.Random(7)
        self.expected: dict[str, str] = {}
        self._number = 0

    def write(self, rounds: int) -> None:
        for number in range(rounds):
            kind = number % 4
            changes = [self._change() for _ in range(20)]
            if kind == 0:
                self._send(self.plain, changes)
                self._count(changes)
            else:
                self.transactional.begin_transaction()
                self._send(self.transactional, changes)
                if kind == 1:
                    self.transactional.abort_transaction(20)
                else:
                    self.transactional.commit_transaction(20)
                    self._count(changes)

    def _change(self) -> tuple[str, str | None]:
        self._number += 1
        key = f"key-{self.chance.randrange(KEYS)}"
        return key, None if self.chance.random() < 0.15 else f"{self._number} " + "x" * self.chance.randrange(100)

    def _send(self, producer: Producer, changes: list[tuple[str, str | None]]) -> None:
        for key, value in changes:
            producer.produce(self.topic, value, key)
        assert producer.flush(20) == 0

    def _count(self, changes: list[tuple[str, str | None]]) -> None:
        for key, value in changes:
            if value is None:
                self.expected.pop(key, None)
            else:
                self.expected[key] = value


def cleaned_up_to(broker: Broker, topic: str) -> int:
    """What the broker has written down of the cleaner's progress."""
    (path,) = list(Path(broker.data_dir).rglob("cleaner-offset-checkpoint")) or [None]
    return 0 if path is None else parse_offsets(path.read_bytes(), "cleaned").get((topic, 0), 0)


def test_librdkafka_rebuilds_the_same_table_before_during_and_after_cleaning(broker: Broker) -> None:
    create(broker, "table", min_compaction_lag_ms="3600000")  # the cleaner waits until we have seen everything
    writer = Writer(broker, "table")
    writer.write(60)
    before = rows(broker, "table")
    assert table(before) == writer.expected
    end = before[-1][0]
    let_clean(broker, "table")

    def clean() -> bool:
        found = rows(broker, "table")
        assert table(found) == writer.expected
        assert set(found) <= set(before)
        return cleaned_up_to(broker, "table") > end // 2

    until(clean, "the cleaner got through half of the log")
    after = rows(broker, "table")
    assert len(after) < len(before) * 3 / 4  # the rest is in the segment that is written to
    assert table(after) == writer.expected
    writer.write(40)  # the same producers go on
    assert table(rows(broker, "table")) == writer.expected
    broker.kill()
    broker.start()
    assert table(rows(broker, "table")) == writer.expected
    writer.write(8)
    assert table(rows(broker, "table")) == writer.expected


def test_a_record_without_a_key_is_refused(broker: Broker) -> None:
    create(broker, "keyed")
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce("keyed", b"no key", on_delivery=lambda error, _: errors.append(error))
    producer.flush(20)
    (error,) = errors
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD


def test_offsets_and_transactional_ids_are_the_same_after_their_topics_were_compacted(broker: Broker) -> None:
    create(broker, "input")
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    producer = Producer({**settings, "transactional.id": "mover"})
    producer.init_transactions(20)
    consumers = [Consumer({**settings, "group.id": f"group-{number}"}) for number in range(3)]
    turn = 0

    def move() -> None:
        producer.begin_transaction()
        producer.produce("input", b"%d" % turn, b"key")
        places = [TopicPartition("input", 0, turn)]
        producer.send_offsets_to_transaction(places, consumers[2].consumer_group_metadata(), 20)
        producer.commit_transaction(20)

    def commit_on() -> bool:
        nonlocal turn
        for _ in range(20):
            turn += 1
            for number, consumer in enumerate(consumers[:2]):
                places = [TopicPartition("input", 0, turn * 10 + number, metadata="x" * 50)]
                consumer.commit(offsets=places, asynchronous=False)
            if turn % 4 == 0:
                move()
        return cleaned_up_to(broker, "__consumer_offsets") > 500 and cleaned_up_to(broker, "__transaction_state") > 20

    def committed() -> list[int]:
        places = [consumer.committed([TopicPartition("input", 0)], 20)[0] for consumer in consumers]
        return [place.offset for place in places]

    until(commit_on, "the coordinators' topics were compacted", seconds=120, pause=0)
    expected = [turn * 10, turn * 10 + 1, turn]
    assert committed() == expected
    broker.kill()
    broker.start()
    until(lambda: committed() == expected, "the offsets are back")
    zombie = producer
    successor = Producer({**settings, "transactional.id": "mover"})
    successor.init_transactions(20)  # the coordinator knows the id, and its epoch
    zombie.begin_transaction()
    zombie.produce("input", b"late", b"key")
    with pytest.raises(KafkaException):
        zombie.commit_transaction(20)
    for consumer in consumers:
        consumer.close()


def test_tape_topic_describe_says_how_clean_a_log_is(broker: Broker, tape: Tape) -> None:
    create(broker, "told")
    writer = Writer(broker, "told")
    writer.write(12)
    (part,) = tape.json("topic", "describe", "told", "--bootstrap", broker.bootstrap)["partitions"]
    assert part["cleaning"]["uncleanable"] is None
    assert 0.0 <= part["cleaning"]["dirty_ratio"] <= 1.0
    assert "compacted up to" in tape("topic", "describe", "told", "--bootstrap", broker.bootstrap)
