"""A process that runs one loop, for tests that press Ctrl-C: `python interrupted.py KIND BOOTSTRAP TOPIC STORE`.

It says `handled` for each record, and `ended` when `run` has returned. Without a broker it says so after half a second.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
from contextlib import suppress

from tapelog.toolkit import (
    IdempotentConsumer,
    Record,
    Relay,
    RetryTopics,
    Send,
    SQLiteOutbox,
    SQLiteStore,
    aio,
    at_least_once,
    at_most_once,
    exactly_once,
)

SYNC = {"exactly_once": exactly_once, "at_least_once": at_least_once, "at_most_once": at_most_once}


def handle(record: Record, db: object = None) -> Send | None:
    """Say so, and answer."""
    print("handled", flush=True)
    return Send(f"{record.topic}.out", record.value) if db is None else None


async def handle_later(record: Record) -> Send | None:
    """The same."""
    return handle(record)


def main(kind: str, bootstrap: str, topic: str, store: str) -> None:
    """Run until interrupted."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits that it is ignored
    where = {"group": "g", "topics": topic, "patience_seconds": 0.5}
    if kind == "relay":
        outbox, db = SQLiteOutbox(store), sqlite3.connect(store)
        outbox.create(db)
        outbox.put(db, Send(topic, "x"))
        db.commit()
        Relay(outbox, bootstrap, patience_seconds=0.5).run()
    elif kind == "idempotent":
        IdempotentConsumer(bootstrap, store=SQLiteStore(store), handle=handle, **where).run()  # type: ignore[arg-type]
    elif kind == "retries":
        at_least_once(bootstrap, handle=handle, on_error=RetryTopics("1s"), **where).run()  # type: ignore[arg-type]
    elif kind.startswith("aio."):
        loop = getattr(aio, kind.removeprefix("aio."))(bootstrap, handle=handle_later, **where)
        with suppress(KeyboardInterrupt):  # what asyncio.run makes of Ctrl-C
            asyncio.run(loop.run())
    else:
        SYNC[kind](bootstrap, handle=handle, **where).run()  # type: ignore[arg-type]
    print("ended", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
