"""A store in PostgreSQL (`pip install tapelog[postgres]`): for services of which several instances run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from tapelog.toolkit.durations import seconds
from tapelog.toolkit.stores.ports import IDS_MAX, KEEP, PURGE_EVERY, PURGE_ROWS_MAX, short

if TYPE_CHECKING:
    import psycopg

SCHEMA = """
CREATE TABLE IF NOT EXISTS tapelog_handled (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (scope, name)
)
"""
MARK = "INSERT INTO tapelog_handled (scope, name) VALUES (%s, %s) ON CONFLICT DO NOTHING"
HAS = "SELECT 1 FROM tapelog_handled WHERE scope = %s AND name = %s"
PURGE = """
DELETE FROM tapelog_handled WHERE seq IN (
    SELECT seq FROM tapelog_handled
    WHERE at < now() - make_interval(secs => %s) OR seq <= (SELECT max(seq) FROM tapelog_handled) - %s
    ORDER BY seq LIMIT %s FOR UPDATE SKIP LOCKED
)
"""
SETUP_LOCK = 7_203_114_552


class PostgresStore:
    """Handled messages in a PostgreSQL database. Any number of processes may share it.

    The handler gets the `psycopg.Connection`, in a transaction that it must not end itself (psycopg refuses). A second
    process that is given the same message waits until the first has committed or rolled back.
    """

    def __init__(self, dsn: str, *, keep: str | float = KEEP, max_ids: int = IDS_MAX, **connect: Any) -> None:
        self._dsn, self._connect = dsn, connect
        self._limits = (seconds(keep), max_ids, PURGE_ROWS_MAX)
        self._connection: psycopg.Connection[Any] | None = None
        self._lock = threading.RLock()
        self._marks = 0

    def connection(self) -> psycopg.Connection[Any]:
        """The connection; a new one after the last was lost."""
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._dsn, autocommit=True, **self._connect)
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETUP_LOCK,))
                self._connection.execute(SCHEMA)
        return self._connection

    @contextmanager
    def once(self, scope: str, name: str) -> Iterator[psycopg.Connection[Any] | None]:
        with self._lock:
            connection = self.connection()
            self._marks += 1
            if self._marks % PURGE_EVERY == 1:
                connection.execute(PURGE, self._limits)
            with connection.transaction():
                marked = connection.execute(MARK, (scope, short(name))).rowcount == 1
                yield connection if marked else None

    def has(self, scope: str, name: str) -> bool:
        with self._lock:
            return self.connection().execute(HAS, (scope, short(name))).fetchone() is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class AsyncPostgresStore:
    """The same on a `psycopg.AsyncConnection`, one transaction at a time."""

    def __init__(self, dsn: str, *, keep: str | float = KEEP, max_ids: int = IDS_MAX, **connect: Any) -> None:
        self._dsn, self._connect = dsn, connect
        self._limits = (seconds(keep), max_ids, PURGE_ROWS_MAX)
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._turn = asyncio.Lock()
        self._marks = 0

    async def connection(self) -> psycopg.AsyncConnection[Any]:
        """The connection; a new one after the last was lost."""
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True, **self._connect)
            async with self._connection.transaction():
                await self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETUP_LOCK,))
                await self._connection.execute(SCHEMA)
        return self._connection

    @asynccontextmanager
    async def once(self, scope: str, name: str) -> AsyncIterator[psycopg.AsyncConnection[Any] | None]:
        async with self._turn:
            connection = await self.connection()
            self._marks += 1
            if self._marks % PURGE_EVERY == 1:
                await connection.execute(PURGE, self._limits)
            async with connection.transaction():
                marked = (await connection.execute(MARK, (scope, short(name)))).rowcount == 1
                yield connection if marked else None

    async def has(self, scope: str, name: str) -> bool:
        async with self._turn:
            cursor = await (await self.connection()).execute(HAS, (scope, short(name)))
            return await cursor.fetchone() is not None

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
