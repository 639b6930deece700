"""`tape txn` against a running cluster: what is open, who wrote it, what hangs, and how it ends."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.support import raw
from tests.support.markers import nothing_open
from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

ERR, NOT_FOUND = 6, 4
VERIFICATION = "transaction.partition.verification.enable"
STRAY_PRODUCER = 987_654_321
TRANSACTIONAL = 0x10


@pytest.fixture
def writer(bootstrap: str, fresh: Fresh) -> Iterator[tuple[Producer, str]]:
    """A transactional producer and its id."""
    name = fresh()
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": 60_000})
    made.init_transactions(30)
    yield made, name


def test_an_open_transaction_is_listed_described_and_seen_in_its_partition(
    tape: Tape, writer: tuple[Producer, str], make_topic: MakeTopic
) -> None:
    (producer, name), topic = writer, make_topic(2)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=1)
    producer.flush(10)
    (listed,) = [one for one in tape.json("txn", "list", "--state", "Ongoing") if one["id"] == name]
    described = tape.json("txn", "describe", name)
    assert described["state"] == "Ongoing" and described["partitions"] == [[topic, 1]]
    assert (described["producer_id"], described["timeout_ms"]) == (listed["producer_id"], 60_000)
    assert described["started_ms"] == pytest.approx(time.time() * 1000, abs=60_000)
    assert "ongoing, open for" in tape("txn", "describe", name)
    (one,) = tape.json("txn", "producers", topic)
    assert (one["partition"], one["producer_id"], one["open_since_offset"]) == (1, listed["producer_id"], 0)
    assert str(listed["producer_id"]) in tape("txn", "producers", f"{topic}:1", "--open")
    assert tape.json("txn", "producers", f"{topic}:0") == []
    assert [one["id"] for one in tape.json("txn", "list", "--producer", str(listed["producer_id"]))] == [name]
    assert name not in tape("txn", "list", "--older", "1h")
    assert [one["id"] for one in tape.json("txn", "list", "--match", f"{name[:-1]}.")] == [name]
    assert tape.json("txn", "hanging", topic, "--older", "0s") == [], "its coordinator knows it"
    tape("txn", "abort", "--hanging", f"{topic}:1:0", "--yes", code=1)
    assert f"tape txn abort {name}" in tape.err
    producer.commit_transaction(20)
    until(lambda: tape.json("txn", "describe", name)["state"] == "CompleteCommit", "its end")
    until(lambda: tape.json("txn", "producers", topic, "--open") == [], "nothing open in the log")


def test_a_transaction_is_aborted_by_its_id_and_its_producer_shut_out(
    tape: Tape, writer: tuple[Producer, str], make_topic: MakeTopic
) -> None:
    (producer, name), topic = writer, make_topic()
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(10)
    tape("txn", "abort", name, code=2)
    assert "--yes" in tape.err
    aborted = tape.json("txn", "abort", name, "--yes")
    assert aborted["id"] == name
    until(lambda: tape.json("txn", "producers", topic, "--open") == [], "the abort marker")
    with pytest.raises(KafkaException):
        producer.commit_transaction(20)
    assert tape.lines("consume", topic) == [], "nobody sees aborted records"


def test_a_hanging_transaction_is_found_and_aborted_where_it_is(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic = make_topic(2)
    (broker,) = [row["name"] for row in tape.json("config", "list", "broker")]
    tape("config", "set", "broker", broker, f"{VERIFICATION}=false")
    try:
        with raw.Raw(bootstrap) as connection:
            until(lambda: stray_write(connection, topic) == 0, "a write that no coordinator knows of")
    finally:
        tape("config", "unset", "broker", broker, VERIFICATION)
    tape("produce", topic, "behind it", "-p", "0")
    assert read_committed(bootstrap, topic) == [], "it holds readers back"
    assert tape.json("txn", "hanging", topic) == [], "it may still end by itself"
    (found,) = tape.json("txn", "hanging", topic, "--older", "0s", code=ERR)
    assert (found["partition"], found["producer_id"], found["start_offset"]) == (0, STRAY_PRODUCER, 0)
    assert found["abort"] == f"tape txn abort --hanging {topic}:0:0"
    assert found["abort"] in tape("txn", "hanging", "--older", "0s", code=ERR)
    tape("txn", "abort", "--hanging", f"{topic}:0:1", "--yes", code=NOT_FOUND)
    tape(*found["abort"].split()[1:], "--yes")
    assert tape.json("txn", "hanging", topic, "--older", "0s") == []
    until(lambda: read_committed(bootstrap, topic) == [b"behind it"], "the record behind it")


def stray_write(connection: raw.Raw, topic: str) -> int:
    """Write one record in a transaction that was never begun; the error code."""
    batch = raw.batch(raw.record(b"stray"), 1, attributes=TRANSACTIONAL, producer=(STRAY_PRODUCER, 0, 0))
    head = raw.string("nobody") + struct.pack(">hii", -1, 10_000, 1) + raw.string(topic)
    answer = connection.call(raw.PRODUCE, 7, head + struct.pack(">iii", 1, 0, len(batch)) + batch)
    return raw.produce_error(answer, topic)[0]


def read_committed(bootstrap: str, topic: str) -> list[bytes]:
    """What a read_committed reader of partition 0 gets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    values: list[bytes] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = until(lambda: consumer.poll(0.2), "a record or the end")
            if message.error() is not None:
                return values
            values.append(message.value() or b"")
    finally:
        consumer.close()


def test_what_is_not_there_is_told(tape: Tape, fresh: Fresh) -> None:
    tape("txn", "describe", fresh(), code=NOT_FOUND)
    tape("txn", "abort", fresh(), "--yes", code=NOT_FOUND)
    tape("txn", "producers", fresh(), code=NOT_FOUND)
    tape("txn", "list", "--state", "Oingoing", code=2)
    assert "Ongoing" in tape.err


def test_a_near_transactional_id_is_offered(tape: Tape, writer: tuple[Producer, str]) -> None:
    tape("txn", "describe", f"{writer[1]}x", code=NOT_FOUND)
    assert f"did you mean `{writer[1]}`?" in tape.err
    tape("txn", "abort", "--hanging", "nonsense", "--yes", code=2)
    tape("txn", "abort", code=2)
    tape("txn", "list", "--older", "long", code=2)
    tape("txn", "producers", "t:x", code=2)


def test_what_a_topic_holds_is_told_in_offsets_which_markers_have_too(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, writer: tuple[Producer, str]
) -> None:
    topic, producer = make_topic(1), writer[0]
    for _ in range(2):
        producer.begin_transaction()
        producer.produce(topic, b"v")
        producer.commit_transaction(20)
    nothing_open(bootstrap, topic)
    assert len(tape.lines("consume", topic)) == 2
    row = next(one for one in tape.json("topic", "list", "--offsets") if one["topic"] == topic)
    assert (row["offsets"], row["records"]) == (4, 4), "two records, two markers"
    head, *lines = (line.split() for line in tape("topic", "list", "--records").splitlines())
    assert head[-1] == "offsets" and [topic, "1", "1", "4"] in [[*line[:2], "1", line[-1]] for line in lines if line]
    (part,) = tape.json("topic", "describe", topic)["partitions"]
    assert (part["offsets"], part["records"]) == (4, 4)
    shown = tape("topic", "describe", topic)
    assert "1 partition, 4 offsets, id" in shown and "records" not in shown
