"""Outbox: events written in the application's own database transaction, published afterwards by a relay.

    outbox = SQLiteOutbox("shop.db")                       # or PostgresOutbox("dbname=shop")

    with db:                                               # the application's own transaction
        db.execute("INSERT INTO orders …")
        outbox.put(db, Send.json("orders", {"item": "tea"}, key="42"))

    Relay(outbox, "localhost:9092").run()                  # in this process or another

The event exists if and only if the transaction was committed. The relay publishes at least once, in order, each event
with a `message-id` header by which IdempotentConsumer recognises a second copy. Of several relays one works; the others
wait to take over.
"""

from __future__ import annotations

from tapelog.toolkit.outbox.events import Event, Outbox
from tapelog.toolkit.outbox.postgres import PostgresOutbox
from tapelog.toolkit.outbox.relay import Relay
from tapelog.toolkit.outbox.sqlite import SQLiteOutbox

__all__ = ["Event", "Outbox", "PostgresOutbox", "Relay", "SQLiteOutbox"]
