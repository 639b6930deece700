"""Writing through real sockets to fake brokers that fail: every record once, in order, or an error that says why."""

from __future__ import annotations

import random
import threading

import pytest

from tapelog.client.errors import DeadlineError, FencedError, RefusedError, UnknownTopicError
from tapelog.client.partitioner import partition_for_key
from tapelog.client.produce import Producer
from tapelog.client.producer_settings import ProducerIdentity, ProducerSettings
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.produce_request import ProduceRequest
from tapelog.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tapelog.wire.record_batch import BatchHeader, Record, iterate
from tapelog.wire.values import Slice
from tests.unit.client.fake_broker import Answer
from tests.unit.client.fake_cluster import TOPIC, FakeCluster

ME = ProducerIdentity(7, 3)


class Logs:
    """Partitions with Kafka's rules for numbered batches; `fail` may say something else, before or after an append."""

    def __init__(self, fake: FakeCluster) -> None:
        self.fake = fake
        self.records: dict[int, list[Record]] = {}
        self.last: dict[int, list[int]] = {}
        self.before: list[int] = []
        self.limit = 1 << 30
        self.chance: random.Random | None = None
        self.answering = threading.Event()
        self.answering.set()
        fake.extra = self

    def __call__(self, node: int, request: Message, version: int) -> Answer | NotImplementedError:
        if not isinstance(request, ProduceRequest):
            return NotImplementedError()
        self.answering.wait(30)
        chance = self.chance
        if chance is not None and chance.random() < 0.1:
            return None
        (topic,) = request.topic_data
        rows = []
        for part in topic.partition_data:
            assert isinstance(part.records, Slice)
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            if self.fake.leaders[part.index] == node:
                code = self.append(part.index, part.records.tobytes())
            rows.append(PartitionProduceResponse(part.index, code))
            if code == ErrorCode.INVALID_RECORD:
                rows[-1].record_errors = [BatchIndexAndErrorMessage(0, "no key")]
        if chance is not None and chance.random() < 0.1:
            return None
        if chance is not None and chance.random() < 0.2:
            self.fake.leaders = {part: chance.choice([1, 2]) for part in self.fake.leaders}
        return ProduceResponse(responses=[TopicProduceResponse(topic.name, topic.topic_id, rows)])

    def append(self, partition: int, data: bytes) -> ErrorCode:
        if self.before:
            return ErrorCode(self.before.pop(0))
        if len(data) > self.limit:
            return ErrorCode.MESSAGE_TOO_LARGE
        header = BatchHeader(data, 0, len(data))
        log, last = self.records.setdefault(partition, []), self.last.setdefault(partition, [])
        if header.base_sequence in last[-5:]:
            return ErrorCode.NONE
        if header.base_sequence != len(log):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        log += iterate(data, 0, len(data))
        last.append(header.base_sequence)
        return ErrorCode.NONE


def write(producer: Producer, count: int, partitions: int = 1) -> None:
    for number in range(count):
        producer.send(TOPIC, b"k", b"%d" % number, 1000 + number, partition=number % partitions)


def values(logs: Logs, partition: int = 0) -> list[int]:
    return [int(record.value or b"") for record in logs.records.get(partition, [])]


SMALL = ProducerSettings(batch_bytes=300)


def test_records_arrive_in_order_with_what_they_carry() -> None:
    with FakeCluster(partitions=4) as fake:
        logs = Logs(fake)
        producer = Producer(fake.connect(), ME, SMALL)
        producer.send(TOPIC, b"key", b"value", 1234, [("name", b"header"), ("none", None)])
        producer.send(TOPIC, None, None, 5, partition=2)
        producer.flush()
        (record,) = logs.records[partition_for_key(b"key", 4)]
        assert (record.key, record.value, record.timestamp) == (b"key", b"value", 1234)
        assert list(record.headers) == [("name", b"header"), ("none", None)]
        assert (logs.records[2][0].key, logs.records[2][0].value) == (None, None)
        assert producer.records == 2 and len(producer.touched) == 2
        producer.flush()


@pytest.mark.parametrize("seed", range(6))
def test_with_connections_lost_and_leaders_on_the_move_every_record_is_there_once_and_in_order(seed: int) -> None:
    with FakeCluster(brokers=2, partitions=3) as fake:
        logs = Logs(fake)
        logs.chance = random.Random(seed)
        producer = Producer(fake.connect(), ME, SMALL)
        write(producer, 600, partitions=3)
        producer.flush()
        for partition in range(3):
            assert values(logs, partition) == list(range(partition, 600, 3))
        assert producer.records == 600


def test_several_requests_are_in_flight() -> None:
    with FakeCluster() as fake:
        logs = Logs(fake)
        cluster = fake.connect()
        producer = Producer(cluster, ME, SMALL)
        producer.send(TOPIC, b"k", b"0", 0, partition=0)
        producer.flush()  # the first one goes alone
        logs.answering.clear()
        most = 0
        for number in range(1, 200):
            producer.send(TOPIC, b"k", b"%d" % number, 0, partition=0)
            most = max(most, *(link.in_flight for link in cluster.links), 0)
            if most > 1:
                logs.answering.set()
        producer.flush()
        assert 1 < most <= 5
        assert values(logs) == list(range(200))


def test_more_than_may_wait_is_waited_for() -> None:
    with FakeCluster() as fake:
        logs = Logs(fake)
        producer = Producer(fake.connect(), ME, ProducerSettings(batch_bytes=300, buffer_bytes=1000))
        for number in range(300):
            producer.send(TOPIC, b"k", b"%d" % number, 0, partition=0)
            assert producer._held <= 1500
        producer.flush()
        assert values(logs) == list(range(300)) and producer._held == 0


def test_a_batch_that_the_topic_finds_too_large_is_split() -> None:
    with FakeCluster() as fake:
        logs = Logs(fake)
        logs.limit = 200
        producer = Producer(fake.connect(), ME, ProducerSettings(batch_bytes=3000))
        write(producer, 200)
        producer.flush()
        assert values(logs) == list(range(200)) and producer._held == 0
        assert fake.pace.slept == []
        producer.send(TOPIC, b"k", b"x" * 500, 0, partition=0)
        with pytest.raises(RefusedError, match="MESSAGE_TOO_LARGE") as caught:
            producer.flush()
        assert "max.message.bytes" in caught.value.do


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        (ErrorCode.INVALID_PRODUCER_EPOCH, FencedError, "write to orders-0"),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, RefusedError, "OUT_OF_ORDER"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, RefusedError, "TOPIC_AUTHORIZATION_FAILED"),
        (ErrorCode.INVALID_RECORD, RefusedError, "no key"),
    ],
)
def test_what_does_not_pass_is_told_at_once(code: ErrorCode, kind: type[Exception], why: str) -> None:
    with FakeCluster() as fake:
        logs = Logs(fake)
        logs.before = [code]
        producer = Producer(fake.connect(), ME)
        write(producer, 1)
        with pytest.raises(kind, match=why):
            producer.flush()
        assert fake.pace.slept == []


def test_what_cannot_be_delivered_in_time_is_told_with_the_last_reason() -> None:
    with FakeCluster() as fake:
        logs = Logs(fake)
        logs.before = [ErrorCode.NOT_ENOUGH_REPLICAS] * 10_000
        producer = Producer(fake.connect(), ME)
        write(producer, 1)
        with pytest.raises(DeadlineError, match=r"orders-0 within 120 s; last: .*NOT_ENOUGH_REPLICAS") as caught:
            producer.flush()
        assert "min.insync.replicas" in caught.value.do
        assert 115 < sum(fake.pace.slept) < 125 and max(fake.pace.slept) <= 1.01


def test_a_topic_that_does_not_exist_is_told() -> None:
    with FakeCluster() as fake, pytest.raises(UnknownTopicError, match="nowhere"):
        Producer(fake.connect(), ME).send("nowhere", None, b"x", 0)
