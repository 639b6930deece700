"""What the blocking client must do on any cluster, checked against a running one: Tapelog and Apache Kafka alike.

Other people's clients (confluent-kafka) stand on the other side wherever there is one.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable
from unittest import mock

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions
from confluent_kafka import Producer as TheirProducer
from confluent_kafka import TopicPartition as TheirPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.client.cluster import Cluster
from tapelog.client.errors import (
    DeadlineError,
    FencedError,
    OffsetOutOfRangeError,
    RefusedError,
    TransactionStateError,
    UnknownTopicError,
)
from tapelog.client.fetch import fetch_range
from tapelog.client.fetched import Fetched
from tapelog.client.groups import commit, committed, committed_in
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, earliest, for_times, latest
from tapelog.client.pool import lend
from tapelog.client.produce import Producer
from tapelog.client.producer_settings import ProducerSettings
from tapelog.client.settings import ConnectionSettings, parse_addresses
from tapelog.client.transactions import (
    Transaction,
    end_transactions,
    init_producer,
    init_transactional,
)
from tapelog.client.versions import Versions
from tapelog.wire.record_batch import batches, crc_ok, records_of
from tests.support.waiting import until

REPLICAS = int(os.environ.get("TAPELOG_TEST_NODES", "1"))


class Place:
    """A cluster, and fresh topics on it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.settings = ConnectionSettings(parse_addresses(bootstrap))
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def topic(self, partitions: int = 1, **configs: str) -> str:
        name = f"blocking-{uuid.uuid4().hex[:10]}"
        settings = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}}
        self.admin.create_topics([NewTopic(name, partitions, REPLICAS, config=settings)])[name].result(30)
        return name


Check = Callable[[Place], None]
Row = tuple[bytes | None, bytes | None]


def rows(cluster: Cluster, topic: str, partition: int = 0, isolation: int = READ_UNCOMMITTED, **more: int) -> list[Row]:
    """All records of a partition, judged as a decoder must: control batches and aborted transactions left out."""
    where = TopicPartition(topic, partition)
    end = latest(cluster, [where], isolation)[where]
    found: list[Row] = []
    for one in fetch_range(cluster, topic, partition, 0, end, isolation=isolation, **more):
        found += kept(one)
    return found


def kept(one: Fetched) -> list[Row]:
    found: list[Row] = []
    coming = sorted(one.aborted, key=lambda aborted: aborted[1])
    aborting: set[int] = set()
    for header in batches(one.buf, one.start, one.end):
        assert crc_ok(one.buf, header.position, header.end)
        while coming and coming[0][1] <= header.last_offset:
            aborting.add(coming.pop(0)[0])
        if header.is_control:
            aborting.discard(header.producer_id)  # its transaction ends here, whichever way
        elif header.producer_id not in aborting or not header.is_transactional:
            found += [(record.key, record.value) for record in records_of(one.buf, header)]
    return found


def what_it_writes_is_what_it_reads_with_every_codec(place: Place) -> None:
    topic = place.topic(2)
    with lend(place.settings) as cluster:
        for codec in range(5):
            producer = Producer(cluster, init_producer(cluster), ProducerSettings(compression=codec, batch_bytes=4000))
            for number in range(200):
                producer.send(topic, b"%d" % codec, b"%d" % number * 10, 1000 + number, partition=number % 2)
            producer.flush()
            assert producer.records == 200
        for partition in range(2):
            expected = [(b"%d" % codec, b"%d" % n * 10) for codec in range(5) for n in range(partition, 200, 2)]
            assert rows(cluster, topic, partition) == expected
            assert rows(cluster, topic, partition, fetch_bytes=2000) == expected
        zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
        assert earliest(cluster, [zero, one]) == {zero: 0, one: 0}
        assert latest(cluster, [zero, one]) == {zero: 500, one: 500}
        assert for_times(cluster, {zero: 1190, one: 10**13}) == {zero: 95, one: None}


def headers_timestamps_and_nulls_reach_other_clients(place: Place) -> None:
    topic = place.topic()
    with lend(place.settings) as cluster:
        producer = Producer(cluster, init_producer(cluster))
        producer.send(topic, b"key", None, 1_700_000_000_000, [("a", b"1"), ("a", None), ("ü", b"\xff")])
        producer.flush()
    consumer = Consumer({"bootstrap.servers": place.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TheirPartition(topic, 0, 0)])
    message = consumer.poll(60)
    assert message is not None and message.error() is None
    assert (message.key(), message.value(), message.timestamp()[1]) == (b"key", None, 1_700_000_000_000)
    assert message.headers() == [("a", b"1"), ("a", None), ("ü", b"\xff")]
    consumer.close()


def keys_go_where_other_clients_put_them(place: Place) -> None:
    topic = place.topic(7)
    theirs = TheirProducer({"bootstrap.servers": place.bootstrap, "partitioner": "murmur2_random", "linger.ms": 1})
    keys = [uuid.uuid4().bytes[: 1 + n % 16] for n in range(60)]
    for key in keys:
        theirs.produce(topic, b"theirs", key)
    assert theirs.flush(20) == 0
    with lend(place.settings) as cluster:
        producer = Producer(cluster, init_producer(cluster))
        for key in keys:
            producer.send(topic, key, b"ours", 1)
        producer.flush()
        for partition in range(7):
            found = rows(cluster, topic, partition)
            ours = [key for key, value in found if value == b"ours"]
            assert sorted(map(bytes, filter(None, ours))) == sorted(
                key for key, value in found if key and value == b"theirs"
            )


def topics_are_found_by_name_and_id(place: Place) -> None:
    topic = place.topic(3)
    with lend(place.settings) as cluster:
        info = cluster.topic(topic)
        assert [part.partition for part in info.partitions] == [0, 1, 2] and info.has_id
        assert cluster.topic_by_id(info.topic_id).name == topic
        assert topic in [one.name for one in cluster.all_topics()]
        with pytest.raises(UnknownTopicError, match="create it"):
            cluster.topic("no-such-topic-anywhere")


def what_retention_deleted_is_told_apart_from_what_was_never_written(place: Place) -> None:
    topic = place.topic()
    with lend(place.settings) as cluster:
        producer = Producer(cluster, init_producer(cluster))
        for number in range(10):
            producer.send(topic, None, b"%d" % number, 1)
        producer.flush()
        place.admin.delete_records([TheirPartition(topic, 0, 6)])[TheirPartition(topic, 0)].result(20)
        with pytest.raises(OffsetOutOfRangeError) as caught:
            list(fetch_range(cluster, topic, 0, 2, 10))
        assert caught.value.below and caught.value.log_start_offset == 6
        with pytest.raises(OffsetOutOfRangeError) as caught:
            list(fetch_range(cluster, topic, 0, 50, 60))
        assert not caught.value.below and caught.value.end_offset == 10
        assert [row for one in fetch_range(cluster, topic, 0, 6, 10) for row in kept(one)][-4:] == [
            (None, b"%d" % number) for number in range(6, 10)
        ]


def groups_without_members_keep_offsets_for_all_to_see(place: Place) -> None:
    topic, group = place.topic(2), f"query-{uuid.uuid4().hex[:8]}"
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with lend(place.settings) as cluster:
        assert committed(cluster, group, [zero, one]) == {}
        commit(cluster, group, {zero: 5, one: 7}, metadata="batch 3")
        assert {at: (it.offset, it.metadata) for at, it in committed(cluster, group).items()} == {
            zero: (5, "batch 3"),
            one: (7, "batch 3"),
        }
        assert list(committed(cluster, group, [one])) == [one]
        several = [group, *(f"{group}-{number}" for number in range(30))]
        commit(cluster, several[7], {one: 9})
        told_of = committed_in(cluster, several)
        assert set(told_of) == set(several)
        assert {
            name: {at.partition: it.offset for at, it in told_of[name].items()} for name in several if told_of[name]
        } == {
            group: {0: 5, 1: 7},
            several[7]: {1: 9},
        }
    asked = ConsumerGroupTopicPartitions(group, [TheirPartition(topic, 0), TheirPartition(topic, 1)])
    told = place.admin.list_consumer_group_offsets([asked])[group].result(20)
    assert sorted((one.partition, one.offset) for one in told.topic_partitions) == [(0, 5), (1, 7)]


def _transaction(place: Place, *, explicit: bool) -> None:
    """A task writes and leaves open; a driver elsewhere ends: as the sink does it."""
    topic, group, name = place.topic(2), f"marker-{uuid.uuid4().hex[:8]}", f"sink-{uuid.uuid4().hex[:8]}"
    marker = TopicPartition(topic, 0)
    with lend(place.settings) as cluster:

        def task(batch: int, rows: int) -> Transaction | None:
            transaction = Transaction(cluster, name, timeout_ms=30_000)
            assert transaction.implicit is not explicit
            held = committed(cluster, group, [marker]).get(marker)
            if held is not None and held.offset >= batch + 1:
                return None
            producer = transaction.producer(ProducerSettings(batch_bytes=500))
            for number in range(rows):
                producer.send(topic, b"%d-%d" % (batch, number), b"v", 1)
            producer.flush()
            transaction.commit_offsets(group, {marker: batch + 1})
            return transaction

        def seen() -> list[bytes]:
            found = [key for part in range(2) for key, _ in rows(cluster, topic, part, READ_COMMITTED)]
            return sorted(key for key in found if key)

        def expected(*numbers: int) -> list[bytes]:
            return sorted(b"%d-%d" % (batch, number) for batch in numbers for number in range(50))

        first = task(0, 50)
        assert first is not None and seen() == []
        handle = pickle.loads(pickle.dumps(first.handle))
        other = Cluster(place.settings)
        assert end_transactions(other, [handle], commit=True) == {}
        assert end_transactions(other, [handle], commit=True) == {}  # the driver tries again
        until(lambda: seen() == expected(0), "the first batch is visible")
        assert task(0, 50) is None  # a replay skips what is committed
        lost = task(1, 30)  # its driver dies: the batch comes again
        assert lost is not None
        again = task(1, 50)
        assert again is not None
        (refused,) = end_transactions(other, [lost.handle], commit=True).values()
        assert isinstance(refused, FencedError)
        assert seen() == expected(0)
        assert end_transactions(other, [again.handle], commit=True) == {}
        until(lambda: seen() == expected(0, 1), "the second batch is visible")
        assert committed(cluster, group, [marker])[marker].offset == 2
        aborted = task(2, 40)
        assert aborted is not None
        assert end_transactions(other, [aborted.handle], commit=False) == {}
        assert seen() == expected(0, 1)
        assert committed(cluster, group, [marker])[marker].offset == 2
        empty = Transaction(cluster, name)
        problems = end_transactions(other, [empty.handle], commit=True)
        assert all(isinstance(one, TransactionStateError) for one in problems.values())
        other.close()


def a_transaction_that_another_process_ends(place: Place) -> None:
    _transaction(place, explicit=False)


def a_transaction_as_older_clusters_want_it(place: Place) -> None:
    with mock.patch.object(Versions, "feature", lambda self, name: 0):
        _transaction(place, explicit=True)


def an_offset_that_an_open_transaction_may_change_is_waited_for(place: Place) -> None:
    topic, group, name = place.topic(), f"marker-{uuid.uuid4().hex[:8]}", f"sink-{uuid.uuid4().hex[:8]}"
    marker = TopicPartition(topic, 0)
    with lend(place.settings) as cluster:
        transaction = Transaction(cluster, name)
        transaction.commit_offsets(group, {marker: 1})
        with pytest.raises(DeadlineError, match="UNSTABLE_OFFSET_COMMIT"):
            committed(cluster, group, [marker], deadline=cluster.deadline(2))
        assert committed(cluster, group, [marker], require_stable=False) == {}
        assert init_transactional(cluster, [name])[name].epoch > transaction.identity.epoch
        assert committed(cluster, group, [marker]) == {}


def many_transactions_are_ended_at_once(place: Place) -> None:
    topic = place.topic()
    prefix = uuid.uuid4().hex[:8]
    with lend(place.settings) as cluster:
        handles = []
        for number in range(20):
            transaction = Transaction(cluster, f"{prefix}-{number}")
            producer = transaction.producer()
            producer.send(topic, None, b"%d" % number, 1)
            producer.flush()
            handles.append(transaction.handle)
        assert end_transactions(cluster, handles, commit=True) == {}
        until(lambda: len(rows(cluster, topic, isolation=READ_COMMITTED)) == 20, "all of them are visible")
        found = rows(cluster, topic, isolation=READ_COMMITTED)
        assert sorted(int(value or b"-1") for _, value in found) == list(range(20))
        assert len(init_transactional(cluster, [f"{prefix}-{number}" for number in range(20)])) == 20


def refusals_are_told_in_three_lines(place: Place) -> None:
    topic = place.topic(max_message_bytes="2000")
    with lend(place.settings) as cluster:
        producer = Producer(cluster, init_producer(cluster), ProducerSettings(batch_bytes=50_000))
        for number in range(100):
            producer.send(topic, None, os.urandom(100), number)
        producer.flush()  # split until the topic takes them
        assert len(rows(cluster, topic)) == 100
        producer.send(topic, None, os.urandom(3000), 1)
        with pytest.raises(RefusedError, match="MESSAGE_TOO_LARGE") as caught:
            producer.flush()
        assert len(str(caught.value).splitlines()) == 3
        with pytest.raises(RefusedError, match=r"transaction\.max\.timeout\.ms"):
            Transaction(cluster, "too-long", timeout_ms=2**31 - 1)


CHECKS: list[Check] = [
    what_it_writes_is_what_it_reads_with_every_codec,
    headers_timestamps_and_nulls_reach_other_clients,
    keys_go_where_other_clients_put_them,
    topics_are_found_by_name_and_id,
    what_retention_deleted_is_told_apart_from_what_was_never_written,
    groups_without_members_keep_offsets_for_all_to_see,
    a_transaction_that_another_process_ends,
    a_transaction_as_older_clusters_want_it,
    an_offset_that_an_open_transaction_may_change_is_waited_for,
    many_transactions_are_ended_at_once,
    refusals_are_told_in_three_lines,
]
