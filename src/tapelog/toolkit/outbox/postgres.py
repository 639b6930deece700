"""An outbox in PostgreSQL. Relays exclude each other by an advisory lock that ends with the connection."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from tapelog.toolkit.outbox.events import Event, Executes, Outbox

if TYPE_CHECKING:
    import psycopg

LOCK_SPACE = 0x7A9E


class PostgresOutbox(Outbox):
    """Events in a table of a PostgreSQL database.

    Rows are taken in the order of their sequence and removed when published, never skipped by a watermark: an event
    whose transaction commits late is published late, and none is lost. An event that was caused by another is behind
    it, since its number was drawn after the other's transaction had committed.
    """

    def __init__(self, dsn: str, *, table: str = "outbox", **connect: Any) -> None:
        super().__init__(table)
        self.insert = f'INSERT INTO {table} (name, topic, "key", value, headers) VALUES (%s, %s, %s, %s, %s)'
        self._dsn, self._connect = dsn, connect
        self._db: psycopg.Connection[Any] | None = None
        self._ours = False

    def create(self, db: Executes) -> None:
        db.execute(
            f"""CREATE TABLE IF NOT EXISTS {self.table} (
                seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                name TEXT NOT NULL UNIQUE,
                topic TEXT NOT NULL,
                "key" BYTEA,
                value BYTEA,
                headers TEXT NOT NULL,
                at TIMESTAMPTZ NOT NULL DEFAULT now(),
                parked TEXT
            )"""
        )

    def open(self) -> bool:
        import psycopg

        if self._db is None or self._db.closed:
            self._ours = False
            self._db = psycopg.connect(self._dsn, autocommit=True, **self._connect)
        if not self._ours:
            key = (LOCK_SPACE << 32) | zlib.crc32(self.table.encode())
            row = self._db.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
            self._ours = row is not None and bool(row[0])
            if self._ours:
                (found,) = self._db.execute("SELECT to_regclass(%s) IS NOT NULL", (self.table,)).fetchone() or (False,)
                self.ensure(self._db, exists=bool(found), where=f"the database {self._db.info.dbname!r}")
        return self._ours

    def pending(self, limit: int) -> list[Event]:
        assert self._db is not None
        rows = self._db.execute(
            f'SELECT seq, name, topic, "key", value, headers FROM {self.table} WHERE parked IS NULL'
            " ORDER BY seq LIMIT %s",
            (limit,),
        )
        return [Event(*row) for row in rows]

    def remove(self, events: list[Event]) -> None:
        assert self._db is not None
        self._db.execute(f"DELETE FROM {self.table} WHERE seq = ANY(%s)", ([event.seq for event in events],))

    def park(self, event: Event, reason: str) -> None:
        assert self._db is not None
        self._db.execute(f"UPDATE {self.table} SET parked = %s WHERE seq = %s", (reason, event.seq))

    def close(self) -> None:
        db, self._db, self._ours = self._db, None, False
        if db is not None:
            db.close()
