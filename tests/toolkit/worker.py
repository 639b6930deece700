"""A process that runs one loop, for tests that kill it: `python worker.py KIND BOOTSTRAP GROUP IN OUT STORE`.

Each record is sent on to OUT, and each call of the handler is noted in STORE.calls; the handler takes a moment, so that
a kill meets it anywhere.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial

from tapelog.toolkit import (
    IdempotentConsumer,
    Loop,
    Record,
    Send,
    SQLiteStore,
    at_least_once,
    at_most_once,
    exactly_once,
)

LOOPS: dict[str, Callable[..., Loop]] = {
    "exactly_once": exactly_once,
    "at_least_once": at_least_once,
    "at_most_once": at_most_once,
}


def main(kind: str, bootstrap: str, group: str, source: str, out: str, store: str) -> None:
    """Run until killed, or told to stop."""

    calls = os.open(f"{store}.calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def handle(record: Record) -> Send:
        os.write(calls, record.data + b"\n")
        time.sleep(random.uniform(0, 0.002))
        return Send(out, record.value, record.key)

    def write(record: Record, db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE IF NOT EXISTS effects (value TEXT)")
        db.execute("INSERT INTO effects VALUES (?)", (record.text(),))
        handle(record)

    settings = {"session.timeout.ms": 1500, "heartbeat.interval.ms": 200}
    if kind == "idempotent":
        IdempotentConsumer(
            bootstrap, group=group, topics=source, store=SQLiteStore(store), handle=write, consumer=settings
        ).run()
        return
    make = LOOPS[kind]
    if kind == "exactly_once":
        make = partial(exactly_once, transactional_id=group)
    make(bootstrap, group=group, topics=source, handle=handle, consumer=settings, batch_records=50).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
