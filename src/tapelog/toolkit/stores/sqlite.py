"""A store in a SQLite file: the default. The handler writes to the same file, in the same transaction."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from tapelog.toolkit.durations import seconds
from tapelog.toolkit.stores.ports import IDS_MAX, KEEP, PURGE_EVERY, PURGE_ROWS_MAX, StoreMisused, short

SCHEMA = """
CREATE TABLE IF NOT EXISTS tapelog_handled (
    seq INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    at REAL NOT NULL,
    UNIQUE (scope, name)
)
"""
MARK = "INSERT INTO tapelog_handled (scope, name, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
PURGE = """
DELETE FROM tapelog_handled WHERE seq IN (
    SELECT seq FROM tapelog_handled
    WHERE at < ? OR seq <= (SELECT max(seq) FROM tapelog_handled) - ?
    ORDER BY seq LIMIT ?
)
"""


class SQLiteStore:
    """Handled messages in a SQLite file. Processes on one machine may share it.

    The handler gets the `sqlite3.Connection`, in a transaction that it must not end itself.

    >>> store = SQLiteStore(":memory:")
    >>> with store.once("billing", "order-1") as db:
    ...     _ = db.execute("CREATE TABLE paid (name TEXT)")
    >>> with store.once("billing", "order-1") as db:
    ...     print(db)
    None
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep: str | float = KEEP,
        max_ids: int = IDS_MAX,
        busy_timeout: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.db = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")  # an offset must never be safer than what it stands for
        self.db.execute(SCHEMA)
        self._keep_s, self._max_ids, self._clock = seconds(keep), max_ids, clock
        self._lock = threading.RLock()
        self._marks = 0

    @contextmanager
    def once(self, scope: str, name: str) -> Iterator[sqlite3.Connection | None]:
        with self._lock:
            if not self.begin(scope, name):
                yield None
                return
            try:
                yield self.db
            except BaseException:
                self.roll_back()
                raise
            self.commit()

    def begin(self, scope: str, name: str) -> bool:
        """Open the transaction and mark the message; False, and nothing open, when it was marked before."""
        self._marks += 1
        if self._marks % PURGE_EVERY == 1:
            self.purge()
        self.db.execute("BEGIN IMMEDIATE")
        if self.db.execute(MARK, (scope, short(name), self._clock())).rowcount == 1:
            return True
        self.db.execute("ROLLBACK")
        return False

    def roll_back(self) -> None:
        """Nothing happened."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def commit(self) -> None:
        """It happened."""
        if not self.db.in_transaction:
            raise StoreMisused("the handler ended the transaction it was given (`with db:` does that, too)")
        self.db.execute("COMMIT")

    def has(self, scope: str, name: str) -> bool:
        with self._lock:
            found = self.db.execute(
                "SELECT 1 FROM tapelog_handled WHERE scope = ? AND name = ?", (scope, short(name))
            ).fetchone()
        return found is not None

    def purge(self) -> None:
        """Remove some of the marks that are too old or too many."""
        self.db.execute(PURGE, (self._clock() - self._keep_s, self._max_ids, PURGE_ROWS_MAX))

    def close(self) -> None:
        self.db.close()


class AsyncSQLiteStore:
    """The same for async handlers: waiting for the file happens in a thread, one transaction at a time."""

    def __init__(self, path: str | os.PathLike[str], *, keep: str | float = KEEP, max_ids: int = IDS_MAX) -> None:
        self._store = SQLiteStore(path, keep=keep, max_ids=max_ids)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def once(self, scope: str, name: str) -> AsyncIterator[sqlite3.Connection | None]:
        async with self._turn:
            if not await asyncio.to_thread(self._store.begin, scope, name):
                yield None
                return
            try:
                yield self._store.db
            except BaseException:
                self._store.roll_back()
                raise
            await asyncio.to_thread(self._store.commit)

    async def has(self, scope: str, name: str) -> bool:
        async with self._turn:
            return await asyncio.to_thread(self._store.has, scope, name)

    async def close(self) -> None:
        self._store.close()
