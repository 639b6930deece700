"""The stores, all three, sync and async: once, rolled back, expired, bounded, surviving a restart, shared."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapelog.toolkit import (
    AsyncPostgresStore,
    AsyncRedisStore,
    AsyncSQLiteStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StoreMisused,
)
from tests.support.names import Fresh
from tests.support.waiting import until

NEEDS_REDIS = pytest.mark.needs("redis-server")
NEEDS_POSTGRES = pytest.mark.needs("postgres", "initdb")
KINDS = [
    "sqlite",
    pytest.param("redis", marks=NEEDS_REDIS),
    pytest.param("postgres", marks=NEEDS_POSTGRES),
]


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Makes stores of a kind, all on the same data."""

    def store(kind: str, *, is_async: bool = False, **more: Any) -> Any:
        if kind == "sqlite":
            return (AsyncSQLiteStore if is_async else SQLiteStore)(tmp_path / "store.db", **more)
        if kind == "redis":
            import redis

            url = request.getfixturevalue("redis_url")
            client: Any = redis.asyncio.from_url(url) if is_async else redis.from_url(url)
            return (AsyncRedisStore if is_async else RedisStore)(client, **more)
        return (AsyncPostgresStore if is_async else PostgresStore)(request.getfixturevalue("dsn"), **more)

    return store


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_handled_once_also_after_a_restart(make: Callable[..., Any], kind: str, fresh: Fresh) -> None:
    scope = fresh()
    store = make(kind)
    with store.once(scope, "m1") as first:
        assert first is not None
    assert store.has(scope, "m1") and not store.has(scope, "m2") and not store.has("other", "m1")
    store.close()
    again = make(kind)
    with again.once(scope, "m1") as second:
        assert second is None
    with again.once("other", "m1" + scope) as elsewhere:
        assert elsewhere is not None
    again.close()


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_rolls_the_mark_back(make: Callable[..., Any], kind: str, fresh: Fresh) -> None:
    scope, store = fresh(), make(kind)
    with pytest.raises(ZeroDivisionError), store.once(scope, "m"):
        raise ZeroDivisionError
    assert not store.has(scope, "m")
    with store.once(scope, "m") as again:
        assert again is not None
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=NEEDS_POSTGRES)])
def test_what_the_handler_wrote_and_the_mark_are_one_transaction(
    make: Callable[..., Any], kind: str, fresh: Fresh
) -> None:
    scope, store = fresh(), make(kind)
    table = "t" + scope.replace("-", "_")[-12:]
    with store.once(scope, "setup") as db:
        db.execute(f"CREATE TABLE {table} (x TEXT)")
    with pytest.raises(ZeroDivisionError), store.once(scope, "m") as db:
        db.execute(f"INSERT INTO {table} VALUES ('lost')")
        raise ZeroDivisionError
    with store.once(scope, "m") as db:
        db.execute(f"INSERT INTO {table} VALUES ('kept')")
    with store.once(scope, "look") as db:
        assert [tuple(row) for row in db.execute(f"SELECT x FROM {table}")] == [("kept",)]
    store.close()


@NEEDS_REDIS
def test_redis_executes_what_the_handler_queued_with_the_mark(
    make: Callable[..., Any], redis_url: str, fresh: Fresh
) -> None:
    import redis

    scope, store, client = fresh(), make("redis"), redis.from_url(redis_url)
    with pytest.raises(ZeroDivisionError), store.once(scope, "m") as pipe:
        pipe.incr(f"n-{scope}")
        raise ZeroDivisionError
    with store.once(scope, "m") as pipe, make("redis").once(scope, "m") as zombie:
        pipe.incr(f"n-{scope}")
        zombie.incr(f"n-{scope}")
    assert client.get(f"n-{scope}") == b"1", "of two at the same time one counts"


@NEEDS_POSTGRES
def test_postgres_lets_the_second_wait_for_the_first(make: Callable[..., Any], fresh: Fresh) -> None:
    scope, seen = fresh(), []

    def second() -> None:
        with make("postgres").once(scope, "m") as db:
            seen.append(db)

    thread = threading.Thread(target=second)
    with make("postgres").once(scope, "m"):
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(60)
    assert seen == [None]


def test_ending_the_transaction_in_the_handler_is_noticed(make: Callable[..., Any]) -> None:
    store = make("sqlite")
    with pytest.raises(StoreMisused), store.once("s", "m") as db, db:
        db.execute("CREATE TABLE x (y)")


@pytest.mark.parametrize("kind", KINDS)
def test_marks_expire(make: Callable[..., Any], kind: str, fresh: Fresh) -> None:
    scope, store = fresh(), make(kind, keep="50ms")
    with store.once(scope, "m"):
        pass

    def gone() -> bool:
        if kind == "sqlite":
            store.purge()
        if kind == "postgres":
            store._marks = 0
            with store.once(scope, "another"):
                pass
        return not store.has(scope, "m")

    until(gone, "expired")
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_marks_have_a_bounded_number_and_the_oldest_go_first(make: Callable[..., Any], kind: str, fresh: Fresh) -> None:
    scope, store = fresh(), make(kind, max_ids=20)
    for number in range(60):
        with store.once(scope, f"m{number}"):
            pass
        if kind != "redis":
            store._marks = 0  # purge at once
    assert store.has(scope, "m59") and not store.has(scope, "m0")
    assert sum(store.has(scope, f"m{number}") for number in range(60)) <= 23
    store.close()


def test_names_of_any_length_are_told_apart(make: Callable[..., Any]) -> None:
    store = make("sqlite")
    with store.once("s", "x" * 5000), pytest.raises(sqlite3.OperationalError):
        store.db.execute("BEGIN")
    assert store.has("s", "x" * 5000) and not store.has("s", "x" * 5001)


@pytest.mark.parametrize("kind", KINDS)
def test_the_async_stores_promise_the_same(make: Callable[..., Any], kind: str, fresh: Fresh) -> None:
    async def main() -> None:
        scope, store = fresh(), make(kind, is_async=True)
        with pytest.raises(ZeroDivisionError):
            async with store.once(scope, "m"):
                raise ZeroDivisionError
        assert not await store.has(scope, "m")

        async def one() -> bool:
            async with store.once(scope, "m") as transaction:
                await asyncio.sleep(0.01)
                return transaction is not None

        handled = await asyncio.gather(*(one() for _ in range(5)))
        assert sum(handled) >= 1 and (kind == "redis" or sum(handled) == 1)
        assert await store.has(scope, "m") and not await one()
        await store.close()

    asyncio.run(main())
