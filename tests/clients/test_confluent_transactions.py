"""confluent-kafka (librdkafka) writing in transactions: all or nothing, zombies fenced, time-outs, what readers see."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.support.markers import nothing_open
from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import PATIENCE_S, until

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
PARKED_S = 300
"""So long a fetch may be parked: longer than anybody here waits, so a record that arrives has woken it."""
MakeProducer = Callable[..., Producer]


@pytest.fixture
def transactional(bootstrap: str) -> Iterator[MakeProducer]:
    """transactional(id, **config): a producer with that transactional id, initialised, purged when the test ends."""
    made: list[Producer] = []

    def make(id: str, **config: Any) -> Producer:
        quiet = {"error_cb": lambda error: None, "log_level": 0}  # what is fatal, calls report themselves
        settings = {"bootstrap.servers": bootstrap, "transactional.id": id, "linger.ms": 2, **quiet, **config}
        producer = Producer(settings)
        made.append(producer)
        producer.init_transactions(20)
        return producer

    yield make
    for producer in made:
        producer.purge()


def send(producer: Producer, topic: str, values: list[str], partition: int = 0) -> None:
    """Produce and wait until the broker has everything."""
    failures: list[KafkaError] = []
    for value in values:
        producer.produce(
            topic, value.encode(), partition=partition, on_delivery=lambda error, _: error and failures.append(error)
        )
    assert producer.flush(20) == 0
    assert failures == []


def end(admin: AdminClient, topic: str, isolation: IsolationLevel, partition: int = 0) -> int:
    """Where a reader of that isolation is told that the partition ends."""
    place = TopicPartition(topic, partition)
    found = admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=isolation)[place].result(20)
    return int(found.offset)


def read(bootstrap: str, topic: str, isolation: str, partitions: int = 1) -> list[list[str]]:
    """Everything that a reader of that isolation sees up to the partition's end for it."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "isolation.level": isolation,
        "fetch.wait.max.ms": 50,
    }
    consumer = Consumer({**settings, "enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
    values: list[list[str]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < partitions:
        assert time.monotonic() < deadline, f"no end after {values}"
        message = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            values[message.partition() or 0].append((message.value() or b"").decode())
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition() or 0)
    consumer.close()
    return values


def shows(bootstrap: str, topic: str, wanted: list[list[str]]) -> None:
    """Soon a reader of the committed sees exactly this: the markers follow the answer to a commit."""
    nothing_open(bootstrap, topic)
    assert read(bootstrap, topic, COMMITTED, len(wanted)) == wanted


def test_a_transaction_over_topics_is_seen_whole_once_it_is_committed(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topics = [make_topic(3), make_topic(2)]
    producer = transactional(fresh())
    producer.begin_transaction()
    for topic, partitions in zip(topics, (3, 2), strict=True):
        for partition in range(partitions):
            send(producer, topic, ["a", "b"], partition)
    assert read(bootstrap, topics[0], COMMITTED, 3) == [[], [], []]
    assert read(bootstrap, topics[0], UNCOMMITTED, 3) == [["a", "b"]] * 3
    producer.commit_transaction(20)
    for topic, partitions in zip(topics, (3, 2), strict=True):
        shows(bootstrap, topic, [["a", "b"]] * partitions)


def test_an_aborted_transaction_is_seen_only_by_readers_of_the_uncommitted(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic = make_topic(2)
    producer = transactional(fresh(), **{"compression.type": "zstd"})
    for number in range(6):
        producer.begin_transaction()
        send(producer, topic, [f"{number}-{which}" for which in range(3)])
        if number % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    everything = [f"{number}-{which}" for number in range(6) for which in range(3)]
    assert read(bootstrap, topic, UNCOMMITTED)[0] == everything
    shows(bootstrap, topic, [[value for value in everything if value[0] in "024"]])


def test_an_open_transaction_holds_back_whatever_comes_after_it(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic = make_topic(1)
    plain = Producer({"bootstrap.servers": bootstrap})
    slow, quick = transactional(fresh()), transactional(fresh())
    send(plain, topic, ["before"])
    slow.begin_transaction()
    send(slow, topic, ["slow"])
    quick.begin_transaction()
    send(quick, topic, ["quick"])
    quick.commit_transaction(20)
    send(plain, topic, ["after"])
    assert read(bootstrap, topic, COMMITTED)[0] == ["before"]
    assert end(admin, topic, IsolationLevel.READ_COMMITTED) == 1
    until(lambda: end(admin, topic, IsolationLevel.READ_UNCOMMITTED) == 5, "four records and a marker")
    slow.abort_transaction(20)
    shows(bootstrap, topic, [["before", "quick", "after"]])
    assert end(admin, topic, IsolationLevel.READ_COMMITTED) == end(admin, topic, IsolationLevel.READ_UNCOMMITTED) == 6


def test_a_live_reader_of_the_committed_waits_for_the_end_of_a_transaction(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic = make_topic(1)
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "fetch.wait.max.ms": 1000 * PARKED_S}
    consumer = Consumer(settings)  # read_committed is librdkafka's default
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    producer = transactional(fresh())
    producer.begin_transaction()
    send(producer, topic, ["x"])
    assert consumer.poll(1.0) is None
    producer.commit_transaction(20)
    message = consumer.poll(PATIENCE_S)
    assert message is not None and message.value() == b"x", "the parked fetch was not woken"
    consumer.close()


def test_the_newer_of_two_producers_fences_the_older_and_aborts_what_it_left(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic, id = make_topic(1), fresh()
    zombie = transactional(id)
    zombie.begin_transaction()
    send(zombie, topic, ["from the zombie"])
    heir = transactional(id)
    heir.begin_transaction()
    send(heir, topic, ["from the heir"])
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(20)
    assert refused.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
    assert refused.value.args[0].fatal()
    heir.commit_transaction(20)
    shows(bootstrap, topic, [["from the heir"]])
    assert read(bootstrap, topic, UNCOMMITTED)[0] == ["from the zombie", "from the heir"]


def test_a_zombie_cannot_write_either(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic, id = make_topic(1), fresh()
    zombie = transactional(id)
    zombie.begin_transaction()
    send(zombie, topic, ["old"])
    transactional(id)
    with pytest.raises(KafkaException) as refused:
        zombie.produce(topic, b"late", partition=0)
        zombie.flush(20)
    assert refused.value.args[0].code() == KafkaError._FENCED
    assert read(bootstrap, topic, UNCOMMITTED)[0] == ["old"]


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic, id = make_topic(1), fresh()
    producer = transactional(id, **{"transaction.timeout.ms": 4000, "message.timeout.ms": 4000})
    producer.begin_transaction()
    send(producer, topic, ["forgotten"])
    assert read(bootstrap, topic, COMMITTED)[0] == []
    send(Producer({"bootstrap.servers": bootstrap}), topic, ["after"])
    until(lambda: read(bootstrap, topic, COMMITTED)[0] == ["after"], "the abort", pause=0.2)
    with pytest.raises(KafkaException) as refused:
        producer.commit_transaction(20)
    assert refused.value.args[0].fatal()
    again = transactional(id)
    again.begin_transaction()
    send(again, topic, ["anew"])
    again.commit_transaction(20)
    shows(bootstrap, topic, [["after", "anew"]])


def test_a_time_out_above_the_brokers_limit_is_refused(transactional: MakeProducer, fresh: Fresh) -> None:
    with pytest.raises(KafkaException) as refused:
        transactional(fresh(), **{"transaction.timeout.ms": 900_001})
    assert refused.value.args[0].code() == KafkaError.INVALID_TRANSACTION_TIMEOUT


def test_empty_transactions_and_a_hundred_in_a_row(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic = make_topic(1)
    producer = transactional(fresh(), **{"linger.ms": 0})
    for number in range(100):
        producer.begin_transaction()
        if number % 3:
            producer.produce(topic, b"%d" % number, partition=0)
        (producer.abort_transaction if number % 5 == 0 else producer.commit_transaction)(20)
    wanted = [str(number) for number in range(100) if number % 3 and number % 5]
    shows(bootstrap, topic, [wanted])


def test_a_transaction_over_a_hundred_partitions(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, transactional: MakeProducer
) -> None:
    topic = make_topic(100)
    producer = transactional(fresh())
    for value in ("lost", "kept"):
        producer.begin_transaction()
        for partition in range(100):
            producer.produce(topic, value.encode(), partition=partition)
        (producer.commit_transaction if value == "kept" else producer.abort_transaction)(20)
    shows(bootstrap, topic, [["kept"]] * 100)
