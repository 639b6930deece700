"""confluent-kafka: produce, consume, codecs, headers, nulls, sizes, timestamps, seeking, automatic creation."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.names import Fresh, LeaderOf, MakeTopic
from tests.support.raw import Raw, batches, fetch
from tests.support.waiting import PATIENCE_S, until

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARKED_S = 300
"""So long a fetch may be parked: longer than anybody here waits, so a record that arrives has woken it."""


def drain(consumer: Consumer, count: int, *, seconds: float = PATIENCE_S) -> list[Message]:
    """Exactly `count` messages, within the time."""
    got: list[Message] = []
    deadline = time.monotonic() + seconds
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} messages"
        for message in consumer.consume(count - len(got), 0.2):
            assert message.error() is None, message.error()
            got.append(message)
    return got


def reader(bootstrap: str, topic: str, *partitions: int, offset: int = OFFSET_BEGINNING, **config: Any) -> Consumer:
    """A consumer without a group, assigned by hand."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, **config})
    consumer.assign([TopicPartition(topic, partition, offset) for partition in partitions or (0,)])
    return consumer


def send(bootstrap: str, topic: str, values: list[bytes | None], **config: Any) -> list[Message]:
    """Produce to partition 0 and wait; the reports, all of them good."""
    reports: list[Message] = []
    producer = Producer({"bootstrap.servers": bootstrap, **config})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=lambda error, message: reports.append(message))
    assert producer.flush(30) == 0
    assert [report.error() for report in reports if report.error()] == []
    return reports


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_whole_and_in_order(
    bootstrap: str, make_topic: MakeTopic, leader_of: LeaderOf, codec: str
) -> None:
    topic = make_topic(3)
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20})
    sent: dict[int, list[tuple[bytes | None, bytes | None, Any, int]]] = {0: [], 1: [], 2: []}
    started = int(time.time() * 1000)
    for number in range(900):
        partition = number % 3
        key = None if number % 5 == 0 else b"key-%d" % number
        value = [None, b"", b"value-%d " % number * 20][min(number % 7, 2)]
        headers = (
            [("trace", b"%d" % number), ("empty", b""), ("null", None), ("trace", b"again")] if number % 2 else None
        )
        producer.produce(topic, value, key, partition, timestamp=started + number, headers=headers)
        sent[partition].append((key, value, headers, started + number))
    assert producer.flush(30) == 0

    consumer = reader(bootstrap, topic, 0, 1, 2, **{"check.crcs": True})
    got: dict[int, list[Message]] = {0: [], 1: [], 2: []}
    for message in drain(consumer, 900):
        got[message.partition()].append(message)
    consumer.close()
    for partition in range(3):
        assert [message.offset() for message in got[partition]] == list(range(300))
        assert [(m.key(), m.value(), m.headers(), m.timestamp()[1]) for m in got[partition]] == sent[partition]
        assert {message.timestamp()[0] for message in got[partition]} == {TIMESTAMP_CREATE_TIME}

    with Raw(leader_of(topic)) as raw:  # the batches are in the log as the producer compressed them
        _code, _watermark, data = fetch(raw, topic, 0)
    codecs = {attributes & 7 for _first, _last, attributes, _magic in batches(data)}
    # librdkafka leaves a batch uncompressed that compression would make larger: a lone small record at the start
    assert CODECS.index(codec) in codecs and codecs <= {0, CODECS.index(codec)}


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(bootstrap: str, make_topic: MakeTopic, acks: str) -> None:
    topic = make_topic()
    send(bootstrap, topic, [b"%d" % number for number in range(100)], acks=acks)
    consumer = reader(bootstrap, topic)
    assert [message.value() for message in drain(consumer, 100)] == [b"%d" % number for number in range(100)]
    consumer.close()


def test_ten_megabytes_pass_where_the_topic_allows_them(bootstrap: str, make_topic: MakeTopic) -> None:
    large = make_topic(max_message_bytes="11000000")
    value = bytes(range(256)) * 40_000
    send(bootstrap, large, [b"before", value, b"after"], **{"message.max.bytes": 11_000_000, "linger.ms": 0})
    consumer = reader(bootstrap, large)  # default fetch sizes: a batch beyond them must come whole
    assert [message.value() for message in drain(consumer, 3)] == [b"before", value, b"after"]
    consumer.close()


def test_a_message_beyond_the_topics_limit_is_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="100000")
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.produce(topic, b"x" * 200_000, on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(30) == 0
    producer.produce(topic, b"small", on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(30) == 0
    assert errors[0] is not None and errors[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert errors[1] is None


def test_log_append_time_is_the_brokers(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number, timestamp=before - 5_000_000)
    assert producer.flush(30) == 0
    after = int(time.time() * 1000)
    consumer = reader(bootstrap, topic, **{"check.crcs": True})
    for message in drain(consumer, 10):
        kind, stamp = message.timestamp()
        assert kind == TIMESTAMP_LOG_APPEND_TIME
        assert before <= stamp <= after
    consumer.close()


def test_records_too_far_from_now_are_refused_where_asked(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(message_timestamp_before_max_ms="60000", message_timestamp_after_max_ms="60000")
    now = int(time.time() * 1000)
    errors: list[KafkaError | None] = []
    for stamp in (now - 3_600_000, now + 3_600_000, now):
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce(topic, b"v", timestamp=stamp, on_delivery=lambda error, message: errors.append(error))
        assert producer.flush(30) == 0
    codes = [None if error is None else error.code() for error in errors]
    assert codes == [KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_TIMESTAMP, None]


def test_seek_by_time(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    start = int(time.time() * 1000) - 1_000_000
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 7})
    for number in range(100):
        producer.produce(topic, b"%d" % number, timestamp=start + number * 1000)
    assert producer.flush(30) == 0
    consumer = reader(bootstrap, topic)

    def offset_at(stamp: int) -> int:
        return int(consumer.offsets_for_times([TopicPartition(topic, 0, stamp)], timeout=30)[0].offset)

    assert offset_at(start - 1) == 0
    assert offset_at(start + 42_000) == 42
    assert offset_at(start + 42_001) == 43
    assert offset_at(start + 99_000) == 99
    assert offset_at(start + 99_001) == OFFSET_END
    consumer.seek(TopicPartition(topic, 0, offset_at(start + 90_000)))
    assert [message.value() for message in drain(consumer, 10)] == [b"%d" % number for number in range(90, 100)]
    consumer.close()


def test_seek_pause_watermarks_and_position(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, [b"%d" % number for number in range(50)])
    consumer = reader(bootstrap, topic, offset=20)
    here = TopicPartition(topic, 0)
    assert drain(consumer, 1)[0].value() == b"20"
    assert consumer.get_watermark_offsets(here, timeout=30) == (0, 50)
    assert consumer.position([here])[0].offset == 21
    consumer.seek(TopicPartition(topic, 0, 45))
    assert [message.offset() for message in drain(consumer, 5)] == [45, 46, 47, 48, 49]
    consumer.pause([here])
    send(bootstrap, topic, [b"while paused"])
    assert consumer.poll(0.3) is None
    consumer.resume([here])
    assert drain(consumer, 1)[0].value() == b"while paused"
    consumer.close()


@pytest.mark.parametrize(("policy", "expected"), [("earliest", 0), ("latest", 10), ("error", None)])
def test_an_offset_out_of_range_follows_the_reset_policy(
    bootstrap: str, make_topic: MakeTopic, policy: str, expected: int | None
) -> None:
    topic = make_topic()
    send(bootstrap, topic, [b"v"] * 10)
    consumer = reader(bootstrap, topic, offset=500, **{"auto.offset.reset": policy})
    if expected is None:
        failed = until(lambda: consumer.poll(0.2), "an error")
        assert failed.error() is not None and failed.error().code() == KafkaError._AUTO_OFFSET_RESET
    else:
        stop = threading.Event()

        def keep_sending() -> None:
            while not stop.is_set():
                send(bootstrap, topic, [b"later"])
                stop.wait(0.2)

        sender = threading.Thread(target=keep_sending)
        sender.start()
        try:
            first = drain(consumer, 1)[0].offset()
        finally:
            stop.set()
            sender.join()
        assert first == 0 if policy == "earliest" else first >= 10
    consumer.close()


def test_a_waiting_consumer_gets_a_record_at_once(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    consumer = reader(bootstrap, topic, **{"fetch.wait.max.ms": 1000 * PARKED_S, "fetch.min.bytes": 1})
    assert consumer.poll(1.0) is None
    send(bootstrap, topic, [b"now"])
    assert drain(consumer, 1)[0].value() == b"now", "and not only after fetch.wait.max.ms"
    consumer.close()


def test_a_fetch_waits_for_its_minimum_of_bytes(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    consumer = reader(bootstrap, topic, **{"fetch.wait.max.ms": 1500, "fetch.min.bytes": 100_000})
    assert consumer.poll(0.5) is None
    send(bootstrap, topic, [b"small"])
    assert drain(consumer, 1)[0].value() == b"small"
    consumer.close()


def test_many_partitions_in_one_consumer(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(40)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(4000):
        producer.produce(topic, b"%d" % number, b"k%d" % number)
    assert producer.flush(30) == 0
    consumer = reader(bootstrap, topic, *range(40))
    got = drain(consumer, 4000)
    assert sorted(int(message.value() or b"") for message in got) == list(range(4000))
    assert len({message.partition() for message in got}) == 40
    consumer.close()


def test_an_idempotent_producer_keeps_order_without_gaps(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, "batch.num.messages": 50}
    )
    for number in range(10_000):
        producer.produce(topic, b"%d" % number, partition=number % 2)
        producer.poll(0)
    assert producer.flush(30) == 0
    consumer = reader(bootstrap, topic, 0, 1)
    got: dict[int, list[int]] = {0: [], 1: []}
    for message in drain(consumer, 10_000):
        got[message.partition()].append(int(message.value() or b""))
    assert got == {0: list(range(0, 10_000, 2)), 1: list(range(1, 10_000, 2))}
    consumer.close()


def test_producing_to_an_absent_topic_creates_it(bootstrap: str, admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    producer = Producer({"bootstrap.servers": bootstrap})
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"first", on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(30) == 0
    assert errors == [None]
    consumer = reader(bootstrap, topic)
    assert drain(consumer, 1)[0].value() == b"first"
    consumer.close()


def test_a_consumer_does_not_create_topics_unless_it_asks(bootstrap: str, admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": fresh(), "allow.auto.create.topics": False})
    consumer.subscribe([topic])
    failed = until(lambda: consumer.poll(0.2), "an error")
    assert failed.error() is not None and failed.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    consumer.close()
    assert topic not in admin.list_topics(timeout=30).topics


def _recreated(admin: AdminClient, topic: str, old_id: str) -> bool:
    """Create the topic again; True once one with another id is there, whoever made it."""
    try:
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(20)
    except KafkaException as error:
        # still being deleted, or created again by the producer's own metadata request
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            return False
    try:
        return str(admin.describe_topics(TopicCollection([topic]))[topic].result(10).topic_id) != old_id
    except KafkaException:
        return False


def test_a_topic_deleted_and_recreated_under_a_producer_starts_again(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(2)
    before = admin.describe_topics(TopicCollection([topic]))[topic].result(30).topic_id
    producer = Producer(
        {"bootstrap.servers": bootstrap, "topic.metadata.refresh.interval.ms": 200, "message.timeout.ms": 20_000}
    )
    delivered: list[tuple[int, bytes]] = []
    stop = threading.Event()

    def report(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append((message.offset() or 0, message.value() or b""))

    def work() -> None:
        number = 0
        while not stop.is_set():
            try:
                producer.produce(topic, b"%d" % number, on_delivery=report)
            except KafkaException:  # the topic is known to be gone just now
                time.sleep(0.02)
            number += 1
            producer.poll(0.002)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        until(lambda: len(delivered) > 100, "records before the deletion")
        admin.delete_topics([topic])[topic].result(20)

        until(lambda: _recreated(admin, topic, str(before)), "the topic again")
        mark = len(delivered)
        until(lambda: len(delivered) > mark + 100, "records after the recreation")
    finally:
        stop.set()
        worker.join()
    producer.flush(30)
    after = admin.describe_topics(TopicCollection([topic]))[topic].result(30).topic_id
    assert str(after) != str(before)
    last = delivered[-1][1]
    consumer = reader(bootstrap, topic, 0, 1)
    seen: list[tuple[int, bytes | None]] = []

    def found_last() -> bool:
        seen.extend((message.offset() or 0, message.value()) for message in consumer.consume(500, 0.2))
        return any(value == last for _offset, value in seen)

    until(found_last, "the last delivered record in the new topic")
    assert min(offset for offset, _value in seen) == 0
    consumer.close()
