"""The application that is killed: reads `input`, writes two records for each, to `output` and to `audit`.

application.py BOOTSTRAP PROMISE NAME PROTOCOL: the first three promises are the toolkit's loops. The last two are how
people get it wrong, to show that the harness can tell: a transactional producer, but the offsets are committed beside
the transaction, `offsets-before` it or `offsets-after` some of them, as automatic commits do. Runs until SIGTERM.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tapelog.toolkit import Fenced, Record, Send, at_least_once, at_most_once, exactly_once

INPUT, OUTPUT, AUDIT, GROUP = "input", "output", "audit", "application"
PARTITIONS = 3
RIGHT = ("exactly-once", "at-least-once", "at-most-once")
WRONG = ("offsets-after", "offsets-before")
WORK_S = 0.0005
BATCH_RECORDS, BATCH_S = 25, 0.1
TRANSACTION_TIMEOUT_S = 10.0
COMMIT_S = 0.4
QUICK: dict[str, Any] = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "log_level": 0,
}


def audit_partition(value: bytes) -> int:
    """Where the second record goes: another partition than the first, mostly."""
    return sum(value) % PARTITIONS


def handle(record: Record) -> list[Send]:
    """One input, two effects: in order beside its input, and somewhere else."""
    time.sleep(WORK_S)
    return [
        Send(OUTPUT, record.data, partition=record.partition),
        Send(AUDIT, record.data, partition=audit_partition(record.data)),
    ]


def consumer_settings(name: str, protocol: str) -> dict[str, Any]:
    """A static member comes back at once; the newer protocol holds its place until the session ends, so not there.

    Not cooperative-sticky with it: a static member that dies between giving up a partition and joining again comes back
    without a rebalance, and until the next one that partition has no owner. Kafka's protocol is like that.
    """
    if protocol == "consumer":
        return {**QUICK, "group.protocol": "consumer"}
    eager = {"partition.assignment.strategy": "range", "group.instance.id": name}
    return {**QUICK, **eager, "session.timeout.ms": 3000, "heartbeat.interval.ms": 300}


def run_right(bootstrap: str, promise: str, name: str, protocol: str) -> None:
    """A loop of the toolkit, again when it was fenced by its own past."""
    options: dict[str, Any] = {
        "group": GROUP,
        "topics": [INPUT],
        "handle": handle,
        "batch_records": BATCH_RECORDS,
        "batch_seconds": BATCH_S,
        "consumer": consumer_settings(name, protocol),
        "producer": QUICK,
    }
    match promise:
        case "exactly-once":
            times = {"transactional_id": name, "transaction_timeout": TRANSACTION_TIMEOUT_S}
            loop = exactly_once(bootstrap, **options, **times)
        case "at-least-once":
            loop = at_least_once(bootstrap, **options)
        case _:
            loop = at_most_once(bootstrap, **options)
    try:
        loop.run()
    except Fenced as fenced:
        print(f"{name}: {fenced}", file=sys.stderr, flush=True)


def patiently(call: Callable[[], object]) -> None:
    """Repeat a call until it succeeds: brokers come back."""
    while True:
        try:
            call()
            return
        except KafkaException:
            time.sleep(0.05)


def run_wrong(bootstrap: str, promise: str, name: str, protocol: str) -> None:
    """Transactions, and offsets that are none of their business."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    config = {"bootstrap.servers": bootstrap, "group.id": GROUP, **consumer_settings(name, protocol)}
    consumer = Consumer({**config, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    consumer.subscribe([INPUT])
    transactional = {"transactional.id": name, "transaction.timeout.ms": int(TRANSACTION_TIMEOUT_S * 1000)}
    producer = Producer({"bootstrap.servers": bootstrap, **transactional, **QUICK})
    patiently(lambda: producer.init_transactions(5))
    done: dict[int, int] = {}
    committed_at = time.monotonic()

    def commit() -> None:
        places = [TopicPartition(INPUT, partition, offset) for partition, offset in done.items()]
        patiently(lambda: consumer.commit(offsets=places, asynchronous=False))

    while not stopping:
        messages = [one for one in consumer.consume(BATCH_RECORDS, BATCH_S) if one.error() is None]
        done.update({m.partition() or 0: (m.offset() or 0) + 1 for m in messages})
        if messages and promise == "offsets-before":
            commit()
        if messages:
            producer.begin_transaction()
            for message in messages:
                for send in handle(Record.of(message)):
                    producer.produce(send.topic, send.value, partition=send.partition or 0)
            patiently(lambda: producer.commit_transaction(5))
        if done and promise == "offsets-after" and time.monotonic() - committed_at > COMMIT_S:
            commit()
            committed_at = time.monotonic()
    consumer.close()


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)  # where it hangs, if it does
    (run_right if sys.argv[2] in RIGHT else run_wrong)(*sys.argv[1:5])
