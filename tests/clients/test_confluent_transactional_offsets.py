"""confluent-kafka (librdkafka): offsets committed within transactions, the heart of read-process-write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import PATIENCE_S, until

NONE, PENDING = -1001, -2
MakeConsumer = Callable[..., Consumer]


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[MakeConsumer]:
    """consumer(group, topic, **config): a subscribed consumer without automatic commits, closed at the end."""
    made: list[Consumer] = []

    def make(group: str, topic: str, **config: Any) -> Consumer:
        settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
        made.append(Consumer({**settings, "auto.offset.reset": "earliest", **config}))
        made[-1].subscribe([topic])
        return made[-1]

    yield make
    for one in made:
        one.close()


def producer_of(bootstrap: str, id: str, **config: Any) -> Producer:
    """A producer with a transactional id, initialised."""
    quiet = {"error_cb": lambda error: None, "log_level": 0}
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": id, **quiet, **config})
    made.init_transactions(20)
    return made


def fill(bootstrap: str, topic: str, values: list[str]) -> None:
    """Put plain records into partition 0."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value.encode(), partition=0)
    assert producer.flush(20) == 0


def take(consumer: Consumer, count: int) -> list[Message]:
    """The next `count` records, one by one so that the position is right behind the last."""
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    return found


def stored(admin: AdminClient, group: str, topic: str, *, stable: bool = False) -> int:
    """The group's committed offset in partition 0, NONE for none; PENDING while it is not `stable`."""
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    (found,) = admin.list_consumer_group_offsets([asked], require_stable=stable)[group].result(20).topic_partitions
    if found.error is not None:
        assert stable and found.error.code() == KafkaError.UNSTABLE_OFFSET_COMMIT, found.error
        return PENDING
    return int(found.offset)


def settled(admin: AdminClient, group: str, topic: str) -> int:
    """The group's committed offset once nothing is pending: the markers follow the answer to a commit."""
    until(lambda: stored(admin, group, topic, stable=True) != PENDING, "no pending offsets")
    return stored(admin, group, topic)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_offsets_are_committed_with_their_transaction_or_not_at_all(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, consumer: MakeConsumer, protocol: str
) -> None:
    source, target, group = make_topic(1), make_topic(1), fresh()
    fill(bootstrap, source, [str(number) for number in range(10)])
    reader = consumer(group, source) if protocol == "classic" else newer(consumer, group, source)
    producer = producer_of(bootstrap, fresh())
    for abort in (False, True):
        messages = take(reader, 3)
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, message.value(), partition=0)
        producer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), 20)
        assert stored(admin, group, source) == (3 if abort else NONE)  # pending ones do not show
        assert stored(admin, group, source, stable=True) == PENDING
        (producer.abort_transaction if abort else producer.commit_transaction)(20)
        assert settled(admin, group, source) == 3
    reader.close()
    resumed = newer(consumer, group, source) if protocol == "consumer" else consumer(group, source)
    assert [message.offset() for message in take(resumed, 7)] == [3, 4, 5, 6, 7, 8, 9]


def newer(consumer: MakeConsumer, group: str, topic: str) -> Consumer:
    """A consumer of the newer group protocol, which has no session time-out of its own."""
    return consumer(group, topic, **{"group.protocol": "consumer"})


def test_a_reader_of_stable_offsets_waits_for_the_end_of_the_transaction(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, consumer: MakeConsumer
) -> None:
    source, group = make_topic(1), fresh()
    fill(bootstrap, source, ["a", "b", "c"])
    reader = consumer(group, source)
    take(reader, 2)
    producer = producer_of(bootstrap, fresh())
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(source, 0, 2)], reader.consumer_group_metadata(), 20)
    asked = Consumer({"bootstrap.servers": bootstrap, "group.id": group})  # read_committed asks for stable offsets
    ending = threading.Event()

    def end() -> None:
        ending.set()
        producer.commit_transaction(20)

    threading.Timer(1.0, end).start()
    found = asked.committed([TopicPartition(source, 0)], timeout=20)
    assert ending.is_set(), "it was answered before the end of the transaction"
    assert found[0].offset == 2
    asked.close()
    assert settled(admin, group, source) == 2


def test_offsets_of_a_group_that_moved_on_are_refused(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, consumer: MakeConsumer
) -> None:
    source, target, group = make_topic(1), make_topic(1), fresh()
    fill(bootstrap, source, ["a"])
    zombie = consumer(group, source)
    take(zombie, 1)
    metadata = zombie.consumer_group_metadata()
    zombie.close()
    heir = consumer(group, source)
    take(heir, 1)
    producer = producer_of(bootstrap, fresh())
    producer.begin_transaction()
    producer.produce(target, b"twice", partition=0)
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition(source, 0, 1)], metadata, 20)
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(20)
    assert settled(admin, group, source) == NONE


def test_the_heir_of_a_dead_producer_ends_its_pending_offsets(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, consumer: MakeConsumer
) -> None:
    source, group, id = make_topic(1), fresh(), fresh()
    fill(bootstrap, source, ["a", "b"])
    reader = consumer(group, source)
    take(reader, 2)
    dead = producer_of(bootstrap, id)
    dead.begin_transaction()
    dead.send_offsets_to_transaction([TopicPartition(source, 0, 2)], reader.consumer_group_metadata(), 20)
    heir = producer_of(bootstrap, id)
    assert settled(admin, group, source) == NONE
    with pytest.raises(KafkaException) as refused:
        dead.commit_transaction(20)
    assert refused.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
    heir.begin_transaction()
    heir.send_offsets_to_transaction([TopicPartition(source, 0, 1)], reader.consumer_group_metadata(), 20)
    heir.commit_transaction(20)
    assert settled(admin, group, source) == 1


def test_a_plain_commit_beside_a_pending_one(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, consumer: MakeConsumer
) -> None:
    source, group = make_topic(1), fresh()
    fill(bootstrap, source, [str(number) for number in range(9)])
    reader = consumer(group, source)
    take(reader, 1)
    producer = producer_of(bootstrap, fresh())
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(source, 0, 5)], reader.consumer_group_metadata(), 20)
    reader.commit(offsets=[TopicPartition(source, 0, 7)], asynchronous=False)
    assert stored(admin, group, source) == 7
    producer.commit_transaction(20)
    assert settled(admin, group, source) == 7  # the later commit stands: order is that of the log
