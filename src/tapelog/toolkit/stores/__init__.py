"""Where it is remembered which messages have been handled: SQLite, PostgreSQL, Redis.

`once` opens the store's transaction, marks the message in it, and gives it to the handler: what the handler writes
through it and the mark are committed together, or neither is. Marks expire and have a bounded number.
"""

from __future__ import annotations

from tapelog.toolkit.stores.ports import AsyncStore, Store, StoreMisused
from tapelog.toolkit.stores.postgres import AsyncPostgresStore, PostgresStore
from tapelog.toolkit.stores.redis import AsyncRedisStore, RedisStore
from tapelog.toolkit.stores.sqlite import AsyncSQLiteStore, SQLiteStore

__all__ = [
    "AsyncPostgresStore",
    "AsyncRedisStore",
    "AsyncSQLiteStore",
    "AsyncStore",
    "PostgresStore",
    "RedisStore",
    "SQLiteStore",
    "Store",
    "StoreMisused",
]
