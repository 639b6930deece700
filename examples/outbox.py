"""Outbox: an order and its event are written in one database transaction; a relay publishes the event afterwards.

Orders that are rolled back leave no event. The relay is stopped in the middle and started again; a consumer downstream
recognises what came twice by its `message-id`.

Run it:  .venv/bin/python examples/outbox.py [--bootstrap host:port]
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

from _broker import bootstrap, topics

from tapelog.toolkit import IdempotentConsumer, Record, Relay, Send, SQLiteOutbox, SQLiteStore

ORDERS = 40


def shop(path: Path, topic: str) -> None:
    """Takes orders: some customers change their mind before the transaction ends."""
    db = sqlite3.connect(path)
    outbox = SQLiteOutbox(path)
    db.execute("CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT)")
    outbox.create(db)
    for number in range(ORDERS):
        try:
            with db:
                db.execute("INSERT INTO orders VALUES (?, ?)", (number, "tea"))
                outbox.put(db, Send.json(topic, {"order": number, "item": "tea"}, key=str(number)))
                if number % 10 == 3:
                    raise LookupError("the customer left")
        except LookupError:
            pass
    db.close()


def main() -> None:
    """Take orders, publish them with an interruption, deliver each once."""
    with bootstrap(__doc__ or "") as address, tempfile.TemporaryDirectory() as scratch:
        (orders,) = topics(address, "orders")
        path = Path(scratch, "shop.db")
        shop(path, orders)
        with Relay(SQLiteOutbox(path), address, batch_records=5) as first:
            while not first.published:
                time.sleep(0.001)  # then it is stopped
        second = Relay(SQLiteOutbox(path), address)
        second.run(until_empty=True)
        print(f"published: {first.published} before the stop, {second.published} after it")

        store = SQLiteStore(Path(scratch, "delivery.db"))
        store.db.execute("CREATE TABLE delivered (number INTEGER)")

        def deliver(record: Record, db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO delivered VALUES (?)", (record.json()["order"],))

        IdempotentConsumer(address, group=orders, topics=orders, store=store, handle=deliver).run(to_end=True)
        delivered = [number for (number,) in store.db.execute("SELECT number FROM delivered ORDER BY number")]
        sold = [number for (number,) in sqlite3.connect(path).execute("SELECT number FROM orders ORDER BY number")]
        print(f"orders: {len(sold)}, delivered: {len(delivered)}")
        assert delivered == sold and len(sold) == ORDERS - 4
        print("outbox: ok")


if __name__ == "__main__":
    main()
