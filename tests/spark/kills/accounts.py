"""What was put in and what came out: numbers, fed by one thread and read by another, both with librdkafka.

The reader that runs along only tells how far things are. The verdict comes from reading both topics (or the table)
once more, from beginning to end, when everything has ended.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

AHEAD_MAX = 900
"""Rows that are fed beyond what has come out: the query always has work, and never a long way to go."""
READ_S_MAX = 120.0


class Row(NamedTuple):
    """A number that came out, and where."""

    number: int | None
    """None: this is none of our rows, or its key is not the one of its value."""
    place: tuple[int, int]
    """Partition and offset."""


class Feeder(threading.Thread):
    """Writes numbers 0, 1, 2, … to the source topic at a rate, until told to stop; each is acknowledged once."""

    def __init__(self, bootstrap: str, topic: str, rate: int, come_out: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.topic, self.rate = topic, rate
        self.place: dict[tuple[int, int], int] = {}
        """Which number lies at which partition and offset."""
        self.trouble = ""
        self._come_out = come_out
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 600_000,
                "linger.ms": 20,
                "log_level": 0,
            }
        )
        self._fed = 0
        self._over = threading.Event()

    def run(self) -> None:
        due, last = 0.0, time.monotonic()
        while not self._over.is_set():
            now = time.monotonic()
            due, last = due + (now - last) * self.rate, now
            room = self._come_out() + AHEAD_MAX - self._fed
            for number in range(self._fed, self._fed + max(0, min(int(due), room))):
                self._producer.produce(self.topic, b"%d" % number, b"k%d" % number, callback=self._told)
                self._fed += 1
            due -= int(due)
            self._producer.poll(0.05)
        self._producer.flush(300)

    def stop(self) -> int:
        """No more; how many numbers there are."""
        self._over.set()
        self.join(320)
        assert not self.trouble, self.trouble
        assert len(self.place) == self._fed, f"{self._fed} rows were sent, {len(self.place)} acknowledged"
        return self._fed

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.trouble = str(error)
        else:
            self.place[message.partition() or 0, message.offset() or 0] = int(message.value() or b"")


class Reader(threading.Thread):
    """Reads the target topic, read_committed, while it is written."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self.seen: set[int] = set()
        self._consumer = consumer(bootstrap, "read_committed")
        # assigned, not subscribed: a group would begin anew whenever its coordinator is killed
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.2):
                number = None if message.error() else row_of(message).number
                if number is not None:
                    self.seen.add(number)
        self._consumer.close()

    def stop(self) -> None:
        """Read no more."""
        self._over.set()
        self.join(60)


class LakeReader(threading.Thread):
    """Reads the lake table again and again."""

    def __init__(self, uri: str) -> None:
        super().__init__(daemon=True)
        self.seen: set[int] = set()
        self._uri = uri
        self._over = threading.Event()

    def run(self) -> None:
        from tests.spark.kills.lake_check import found, versions

        while not self._over.wait(1.0):
            if versions(self._uri):
                with suppress(Exception):  # the table changes under us; at the end it is read once more, and must work
                    self.seen = {number for number in found(self._uri) if number is not None}

    def stop(self) -> None:
        """Read no more."""
        self._over.set()
        self.join(60)


def consumer(bootstrap: str, isolation: str) -> Consumer:
    """One that belongs to no group and begins at the beginning."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"kills-{uuid.uuid4().hex}",
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )


def whole(bootstrap: str, topic: str, partitions: int, isolation: str = "read_committed") -> list[Row]:
    """Every record of a topic that nobody writes to any more."""
    reading, rows, left = consumer(bootstrap, isolation), [], set(range(partitions))
    reading.assign([TopicPartition(topic, partition, 0) for partition in left])
    over = time.monotonic() + READ_S_MAX
    while left:
        assert time.monotonic() < over, f"partitions {left} of {topic} could not be read to their end"
        for message in reading.consume(500, 0.5):
            error = message.error()
            if error is None:
                rows.append(row_of(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition() or 0)
            elif error.fatal():
                raise KafkaException(error)
    reading.close()
    return rows


def row_of(message: Message) -> Row:
    """The number in a record of the source or of the target."""
    return Row(number_of(message.key(), message.value()), (message.partition() or 0, message.offset() or 0))


def number_of(key: Any, value: Any) -> int | None:
    """The number that a row stands for; None if key and value do not say the same."""
    key, value = (one.encode() if isinstance(one, str) else bytes(one or b"") for one in (key, value))
    digits = value.removeprefix(b"out-")
    return int(digits) if digits.isdigit() and key == b"k" + digits else None


def compared(fed: int, numbers: Iterable[int | None]) -> dict[str, Any]:
    """What is missing, twice, or strange among the numbers that came out, where 0, 1, … fed - 1 were put in."""
    seen = Counter(numbers)
    strange = seen.pop(None, 0) + sum(times for number, times in seen.items() if number is not None and number >= fed)
    missing = [number for number in range(fed) if number not in seen]
    twice = sorted(number for number, times in seen.items() if number is not None and times > 1)
    return {
        "fed": fed,
        "seen": seen.total(),
        "missing": len(missing),
        "twice": len(twice),
        "strange": strange,
        "examples": {"missing": missing[:5], "twice": twice[:5]},
    }
