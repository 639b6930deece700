"""CQRS: one side writes facts, the other keeps a view that answers questions.

Orders are written to a topic; a projection keeps revenue per item in SQLite with IdempotentConsumer, so that every
order counts once although the projection is stopped in the middle and some orders are sent twice. Thrown away and built
again, the view is the same.

Run it:  .venv/bin/python examples/cqrs.py [--bootstrap host:port]
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from pathlib import Path

from _broker import bootstrap, topics
from confluent_kafka import Producer

from tapelog.toolkit import ID_HEADER, IdempotentConsumer, Record, Send, SQLiteStore

PRICES = {"tea": 4, "lamp": 30, "tape": 7}


def write(address: str, topic: str) -> dict[str, int]:
    """The writing side: 300 orders, some of them sent twice; what they come to."""
    producer = Producer({"bootstrap.servers": address})
    revenue = dict.fromkeys(PRICES, 0)
    for number in range(300):
        item = random.choice(sorted(PRICES))
        revenue[item] += PRICES[item]
        order = Send.json(topic, {"order": number, "item": item, "price": PRICES[item]})
        for _ in range(2 if number % 100 == 7 else 1):
            producer.produce(topic, order.value, key=item, headers={ID_HEADER: f"order-{number}"})
    producer.flush(20)
    return revenue


class View:
    """The reading side: a table, and the projection that keeps it."""

    def __init__(self, address: str, topic: str, path: Path) -> None:
        self.store = SQLiteStore(path)
        self.store.db.execute("CREATE TABLE IF NOT EXISTS revenue (item TEXT PRIMARY KEY, total INTEGER NOT NULL)")
        self.projection = IdempotentConsumer(
            address, group=f"{path.stem}-{topic}", topics=topic, store=self.store, handle=self.project, batch_records=50
        )

    def project(self, record: Record, db: sqlite3.Connection) -> None:
        """One order into the view, in one transaction with the mark that it was counted."""
        order = record.json()
        db.execute(
            "INSERT INTO revenue VALUES (?, ?) ON CONFLICT (item) DO UPDATE SET total = total + excluded.total",
            (order["item"], order["price"]),
        )

    def query(self) -> dict[str, int]:
        """The question it answers."""
        return dict(self.store.db.execute("SELECT item, total FROM revenue ORDER BY item").fetchall())


def main() -> None:
    """Write, project with an interruption, ask; rebuild, ask again."""
    with bootstrap(__doc__ or "") as address, tempfile.TemporaryDirectory() as scratch:
        (orders,) = topics(address, "orders")
        expected = write(address, orders)
        with View(address, orders, Path(scratch, "view.db")).projection as first:
            while first.stats.handled < 100:
                time.sleep(0.01)  # then it is stopped in the middle
        view = View(address, orders, Path(scratch, "view.db"))
        view.projection.run(to_end=True)
        print("revenue:", view.query(), "duplicates left out:", first.duplicates + view.projection.duplicates)
        rebuilt = View(address, orders, Path(scratch, "rebuilt.db"))
        rebuilt.projection.run(to_end=True)
        assert view.query() == rebuilt.query() == dict(sorted(expected.items()))
        print("cqrs: ok")


if __name__ == "__main__":
    main()
