"""What moves in the demo: synthetic orders going in, and two groups reading them. Threads around Kafka clients."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaException

from tapelog.cli.connect import Connection
from tapelog.cli.demo_ledger import Books

TOPIC = "orders"
TICK_S = 0.05
READ_WAIT_S = 0.25
READ_MAX = 100

_ITEMS = (("tea", 4.5), ("coffee", 6.9), ("lamp", 39.0), ("notebook", 3.2), ("bicycle bell", 12.0), ("tape", 2.4))
_COUNTRIES = ("DE", "FR", "IN", "JP", "BR", "US", "KE", "SE")


def orders(seed: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Synthetic orders without end: (customer, order)."""
    chance = random.Random(seed)
    number = 0
    while True:
        number += 1
        item, price = chance.choice(_ITEMS)
        quantity = chance.randint(1, 5)
        customer = f"customer-{chance.randint(1, 500)}"
        yield (
            customer,
            {
                "order": number,
                "customer": customer,
                "item": item,
                "quantity": quantity,
                "amount": round(price * quantity, 2),
                "country": chance.choice(_COUNTRIES),
            },
        )


def spoiled(order: dict[str, Any], chance: random.Random) -> str:
    """An order as it should not be: cut off, without a price, or of nothing."""
    match chance.randrange(3):
        case 0:
            return json.dumps(order)[: chance.randint(5, 30)]
        case 1:
            return json.dumps({**order, "amount": -order["amount"]})
        case _:
            return json.dumps({**order, "quantity": 0})


class Shop(threading.Thread):
    """Produces orders at a steady rate; a share of them is bad. Rate and share may be changed while it runs."""

    def __init__(self, connection: Connection, rate: float, stop: threading.Event, books: Books) -> None:
        super().__init__(name="shop", daemon=True)
        self.rate = rate
        self.bad_share = 0.0
        self.sent = 0
        self.books = books
        self._chance = random.Random()
        self._stop_event = stop
        self._producer = connection.producer(linger_ms=5, acks="all", message_timeout_ms=30_000)

    def run(self) -> None:
        """Send what is due, twenty times a second."""
        source = orders()
        due, before = 0.0, time.monotonic()
        while not self._stop_event.wait(TICK_S):
            now = time.monotonic()
            due, before = min(due + (now - before) * self.rate, self.rate), now
            while due >= 1:
                due -= 1
                customer, order = next(source)
                is_bad = self.bad_share > 0 and self._chance.random() < self.bad_share
                value = spoiled(order, self._chance) if is_bad else json.dumps(order)
                at_ms = time.time_ns() // 1_000_000
                try:
                    self._producer.produce(TOPIC, value, customer, timestamp=at_ms)
                except BufferError:
                    break
                self.sent += 1
                if is_bad:
                    self.books.bad += 1
                else:
                    self.books.sold(at_ms, order["amount"])
            self._producer.poll(0)
        self._producer.flush(2)


class Reader(threading.Thread):
    """A consumer of a group. Stopping it closes the client, as a real service going away would; starting joins again.

    It reads at most `speed_max` records a second, so that catching up takes a while and can be watched.
    """

    def __init__(self, connection: Connection, group: str, speed_max: float, stop: threading.Event) -> None:
        super().__init__(name=group, daemon=True)
        self.group = group
        self.speed_max = speed_max
        self.wanted = threading.Event()
        self.wanted.set()
        self.trouble = ""
        self._connection = connection
        self._stop_event = stop

    def toggle(self) -> None:
        """Stop it if it runs, start it if it does not."""
        if self.wanted.is_set():
            self.wanted.clear()
        else:
            self.wanted.set()

    def run(self) -> None:
        """Read whenever wanted, until the demo ends."""
        while not self._stop_event.is_set():
            if self.wanted.wait(READ_WAIT_S):
                self._read()

    def _read(self) -> None:
        consumer = self._connection.consumer(self.group, auto_offset_reset="earliest", enable_auto_offset_store=False)
        try:
            consumer.subscribe([TOPIC])
            while self.wanted.is_set() and not self._stop_event.is_set():
                messages = consumer.consume(READ_MAX, READ_WAIT_S)
                good = [message for message in messages if message.error() is None]
                for message in good:
                    consumer.store_offsets(message)
                if good:
                    consumer.commit(asynchronous=True)
                    self._stop_event.wait(len(good) / self.speed_max)
            self.trouble = ""
        except KafkaException as error:
            self.trouble = error.args[0].str()
            self._stop_event.wait(1)
        finally:
            consumer.close()
