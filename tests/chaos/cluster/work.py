"""What clients do while nodes fail: idempotent writers, transactions that end either way, readers that look on.

Every client is told all nodes once and never again. Each keeps a book of what it was promised; `verdict` compares the
books with what is there in the end.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.chaos.reading import QUICK, Seen
from tests.chaos.reading import read as read

Place = tuple[int, int]

ORDERS, LEDGER, BALANCE = "orders", "ledger", "balance"
PARTITIONS: Final = 6
WAITING_MAX: Final = 2000
DELIVERY_MS: Final = 120_000
"""Java's default: within this, the client tries again by itself."""
TRANSACTION_MS: Final = 20_000


@dataclass
class Sent:
    """One record of a writer: when it was sent, and what became of it."""

    at: float
    done_at: float = 0.0
    error: str = ""


class Writer(threading.Thread):
    """Sends numbered records, in order in each partition, idempotently and to all replicas."""

    def __init__(self, name: str, bootstrap: str, rate: int) -> None:
        super().__init__(daemon=True, name=name)
        settings = {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": DELIVERY_MS, **QUICK}
        self.fatal: list[str] = []
        """Why it cannot go on; no cluster that keeps its promises tells a writer such a thing."""
        self.producer = Producer({"bootstrap.servers": bootstrap, "client.id": name, **settings})
        self.rate = rate
        self.sent: list[Sent] = []
        self.acknowledged: dict[int, Place] = {}
        """By number, where it stands."""
        self.acknowledged_at = time.monotonic()
        self._done = 0
        self._stopping = threading.Event()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        number = int((message.value() or b"").split(b" ")[1])
        one = self.sent[number]
        one.done_at = self.acknowledged_at = time.monotonic()
        self._done += 1
        if error is None:
            self.acknowledged[number] = (message.partition() or 0, message.offset() or 0)
        else:
            one.error = str(error)

    def run(self) -> None:
        try:
            self._write()
        except KafkaException as error:
            self.fatal.append(str(error))

    def _write(self) -> None:
        began = time.monotonic()
        while not self._stopping.is_set():
            number, now = len(self.sent), time.monotonic()
            if number >= (now - began) * self.rate or number - self._done >= WAITING_MAX:
                self.producer.poll(0.005)
                continue
            self.sent.append(Sent(now))
            value = b"%s %d" % (self.name.encode(), number)
            self.producer.produce(ORDERS, value, partition=number % PARTITIONS, on_delivery=self._delivered)

    def finish(self) -> None:
        """Stop, and wait until it is known what became of everything."""
        self._stopping.set()
        self.join(20)
        deadline = time.monotonic() + DELIVERY_MS / 1000 + 30
        while (left := len(self.producer)) and time.monotonic() < deadline:
            try:
                self.producer.poll(0.1)
            except KafkaException as error:
                self.fatal.append(str(error))
        assert left == 0, f"{self.name}: of {left} records nobody knows what became"


@dataclass
class Ended:
    """What a transaction wrote, and how it ended: `committed`, `aborted`, or `unknown` (all or nothing)."""

    number: int
    records: list[tuple[str, int, bytes]]
    outcome: str = "unknown"


@dataclass
class Book:
    """The transactions of one producer, in order."""

    name: str
    ended: list[Ended] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Banker(threading.Thread):
    """Transactions over two topics and several partitions, one in four aborted on purpose; goes on whatever happens."""

    def __init__(self, name: str, bootstrap: str, seed: int, pause_s: float = 0.05) -> None:
        super().__init__(daemon=True, name=name)
        self.book = Book(name)
        self._servers = bootstrap
        self._chance = random.Random(f"{name} {seed}")
        self._pause_s = pause_s
        self._stopping = threading.Event()

    def _producer(self) -> Producer:
        settings = {"transactional.id": self.name, "transaction.timeout.ms": TRANSACTION_MS, **QUICK}
        while True:
            producer = Producer({"bootstrap.servers": self._servers, "client.id": self.name, **settings})
            try:
                producer.init_transactions(30)
                return producer
            except KafkaException as error:
                self.book.errors.append(f"init: {error}")
                if self._stopping.wait(0.2):
                    raise

    def run(self) -> None:
        producer: Producer | None = None
        number = 0
        while not self._stopping.is_set():
            try:
                if producer is None:
                    producer = self._producer()
                self._transaction(producer, number)
            except KafkaException as error:
                self.book.errors.append(f"{number}: {error}")
                producer = None
            number += 1
            self._stopping.wait(self._chance.uniform(0, 2 * self._pause_s))
        # the last owner of the id: what is still open is aborted by the next one
        self._producer_of_the_end()

    def _producer_of_the_end(self) -> None:
        self._stopping.clear()
        self._producer()

    def _transaction(self, producer: Producer, number: int) -> None:
        keep = self._chance.random() >= 0.25
        records = []
        for part in range(self._chance.randint(2, 6)):
            topic = LEDGER if part % 2 == 0 else BALANCE
            text = f"{self.name} {number} {part} {'commit' if keep else 'abort'}"
            records.append((topic, self._chance.randrange(PARTITIONS), text.encode()))
        one = Ended(number, records)
        self.book.ended.append(one)
        producer.begin_transaction()
        failed: list[KafkaError] = []
        for topic, partition, value in records:
            producer.produce(
                topic, value, partition=partition, on_delivery=lambda e, _: failed.append(e) if e else None
            )
        producer.flush(10)
        end = producer.commit_transaction if keep and not failed else producer.abort_transaction
        deadline = time.monotonic() + 60
        while True:
            try:
                end(10)
                one.outcome = "committed" if end == producer.commit_transaction else "aborted"
                return
            except KafkaException as error:
                reason = error.args[0]
                if reason.txn_requires_abort():
                    end = producer.abort_transaction
                elif not reason.retriable() or time.monotonic() > deadline:
                    if end == producer.abort_transaction:
                        one.outcome = "aborted"
                    raise

    def finish(self) -> Book:
        """Stop after the transaction that is under way."""
        self._stopping.set()
        self.join(180)
        assert not self.is_alive(), f"{self.name} never ends: {self.book.errors[-3:]}"
        return self.book


class Onlooker(threading.Thread):
    """Follows a topic from its beginning through everything, and notes what it is given, in the order of coming."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, committed: bool) -> None:
        super().__init__(daemon=True, name="librdkafka reader")
        level = "read_committed" if committed else "read_uncommitted"
        settings = {"group.id": "unused", "isolation.level": level, "fetch.wait.max.ms": 100, **QUICK}
        strict = {"auto.offset.reset": "error", "check.crcs": True}
        self.topic = topic
        self.consumer = Consumer({"bootstrap.servers": bootstrap, **settings, **strict})
        self.consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
        self.seen: list[Seen] = []
        self.errors: list[str] = []
        """What no reader may be told."""
        self.troubles: dict[str, int] = {}
        """What it was told, and how often."""
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            for message in self.consumer.consume(1000, 0.05):
                error = message.error()
                if error is None:
                    self.seen.append((message.partition() or 0, message.offset() or 0, message.value() or b""))
                else:
                    self.troubles[str(error)] = self.troubles.get(str(error), 0) + 1
                    if error.code() == KafkaError._AUTO_OFFSET_RESET:
                        self.errors.append(str(error))
        self.consumer.close()

    def finish(self) -> list[Seen]:
        """Stop; what it saw, partition by partition, in the order in which it came."""
        self._stopping.set()
        self.join(20)
        return sorted(self.seen, key=lambda one: one[0])
