"""The load under which brokers are killed: a process of its own, told to stop by the end of its standard input.

load.py BOOTSTRAP TOPIC PARTITIONS RATE REPORT: an idempotent producer (librdkafka) sends numbered records, in order in
each partition, and a second client commits a growing offset for the group named like the topic. What was acknowledged
is appended to REPORT, a line each: `r PARTITION NUMBER OFFSET` for a record, `c OFFSET` for a commit; `x REASON` for a
record that failed for good. At the end it waits until everything sent is acknowledged and writes `end`.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import IO

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

CONFIG = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "log_level": 0}
UNACKNOWLEDGED_MAX = 2000


def commit_for_ever(bootstrap: str, topic: str, report: IO[str], stopping: threading.Event) -> None:
    """Commit 1, 2, 3 … and report each commit that was acknowledged."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, **CONFIG, "socket.timeout.ms": 2000})
    offset = 1
    while not stopping.wait(0.01):
        try:
            (result,) = consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        except KafkaException:
            continue
        if result.error is None:
            report.write(f"c {offset}\n")
            offset += 1
    consumer.close()


def main(bootstrap: str, topic: str, partitions: int, rate: int, path: str) -> None:
    """Send until told to stop."""
    stopping = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopping.set()), daemon=True).start()
    report = open(path, "w", buffering=1)  # noqa: SIM115
    committer = threading.Thread(target=commit_for_ever, args=(bootstrap, topic, report, stopping))
    committer.start()
    settings = {"enable.idempotence": True, "linger.ms": 2, "message.timeout.ms": 0, "compression.type": "lz4"}
    producer = Producer({"bootstrap.servers": bootstrap, **CONFIG, **settings})
    chance = random.Random(topic)
    waiting = 0

    def acknowledged(error: KafkaError | None, message: Message) -> None:
        nonlocal waiting
        waiting -= 1
        if error is not None:
            report.write(f"x {error}\n")
            return
        number = (message.value() or b"").split(b" ")[0].decode()
        report.write(f"r {message.partition()} {number} {message.offset()}\n")

    numbers = [0] * partitions
    next_at = time.monotonic()
    while not stopping.is_set():
        now = time.monotonic()
        if waiting >= UNACKNOWLEDGED_MAX or now < next_at:
            producer.poll(0.002)
            continue
        next_at = max(next_at + 10 / rate, now - 0.1)
        for _ in range(10):
            partition = chance.randrange(partitions)
            value = b"%d %s" % (numbers[partition], b"x" * chance.randrange(600))
            producer.produce(topic, value, partition=partition, on_delivery=acknowledged)
            numbers[partition] += 1
            waiting += 1
        producer.poll(0)
    left = producer.flush(60)
    committer.join()
    report.write(f"x {left} records were never acknowledged\n" if left else "end\n")
    report.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
