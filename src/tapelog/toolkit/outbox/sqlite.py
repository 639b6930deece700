"""An outbox in a SQLite file. Relays exclude each other by a lock file beside it, which the system releases."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from typing import IO

from tapelog.toolkit.outbox.events import Event, Executes, Outbox


class SQLiteOutbox(Outbox):
    """Events in a table of a SQLite file.

    >>> outbox = SQLiteOutbox("shop.db")
    >>> outbox.insert
    'INSERT INTO outbox (name, topic, "key", value, headers) VALUES (?, ?, ?, ?, ?)'
    """

    def __init__(self, path: str | os.PathLike[str], *, table: str = "outbox", busy_timeout: float = 30.0) -> None:
        super().__init__(table)
        self.insert = f'INSERT INTO {table} (name, topic, "key", value, headers) VALUES (?, ?, ?, ?, ?)'
        self._path, self._busy_timeout = os.fspath(path), busy_timeout
        self._db: sqlite3.Connection | None = None
        self._lock: IO[bytes] | None = None

    def create(self, db: Executes) -> None:
        db.execute(
            f"""CREATE TABLE IF NOT EXISTS {self.table} (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                name TEXT NOT NULL UNIQUE,
                topic TEXT NOT NULL,
                "key" BLOB,
                value BLOB,
                headers TEXT NOT NULL,
                at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
                parked TEXT
            )"""
        )

    def open(self) -> bool:
        if self._lock is None:
            lock = open(f"{self._path}.{self.table}.relay", "ab")  # noqa: SIM115
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return False
            self._lock = lock
        if self._db is None:
            self._db = sqlite3.connect(
                self._path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
            )
            found = self._db.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = ?", (self.table.lower(),)
            )
            self.ensure(self._db, exists=found.fetchone() is not None, where=self._path)
        return True

    def pending(self, limit: int) -> list[Event]:
        assert self._db is not None
        rows = self._db.execute(
            f'SELECT seq, name, topic, "key", value, headers FROM {self.table} WHERE parked IS NULL'
            " ORDER BY seq LIMIT ?",
            (limit,),
        )
        return [Event(*row) for row in rows]

    def remove(self, events: list[Event]) -> None:
        assert self._db is not None
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(f"DELETE FROM {self.table} WHERE seq = ?", [(event.seq,) for event in events])
        self._db.execute("COMMIT")

    def park(self, event: Event, reason: str) -> None:
        assert self._db is not None
        self._db.execute(f"UPDATE {self.table} SET parked = ? WHERE seq = ?", (reason, event.seq))

    def close(self) -> None:
        db, self._db = self._db, None
        lock, self._lock = self._lock, None
        if db is not None:
            db.close()
        if lock is not None:
            lock.close()
