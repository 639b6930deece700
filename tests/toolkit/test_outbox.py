"""The outbox: events as durable as the transaction they are written in, published in order, by one relay at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapelog.toolkit import Outbox, PostgresOutbox, Relay, Send, SendFailed, SQLiteOutbox
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres", "initdb"))]
Connect = Callable[[], Any]


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], tuple[Callable[[], Outbox], Connect]]:
    """Where an outbox of a kind is: makes outboxes on it, and the application's connections."""

    def at(kind: str) -> tuple[Callable[[], Outbox], Connect]:
        if kind == "sqlite":
            path = tmp_path / "app.db"
            SQLiteOutbox(path).create(sqlite3.connect(path))
            return lambda: SQLiteOutbox(path), lambda: sqlite3.connect(path)
        import psycopg

        dsn = request.getfixturevalue("dsn")
        with psycopg.connect(dsn) as db:
            db.execute("DROP TABLE IF EXISTS outbox")
            PostgresOutbox(dsn).create(db)
        return lambda: PostgresOutbox(dsn), lambda: psycopg.connect(dsn)

    return at


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_published_in_order_if_and_only_if_committed(cluster: Cluster, place: Any, kind: str) -> None:
    outboxes, connect = place(kind)
    topic, outbox, db = cluster.topic(), outboxes(), connect()
    names = [outbox.put(db, Send(topic, str(n), key="k", headers={"n": bytes([n, 255])})) for n in range(50)]
    db.commit()
    outbox.put(db, Send(topic, "rolled back"))
    db.rollback()
    outbox.put(db, Send(topic, None, key="tombstone"), name="my-own-name")
    db.commit()
    assert Relay(outboxes(), cluster.bootstrap, batch_records=7).run(until_empty=True) == 51
    records = cluster.read(topic)
    assert [record.value for record in records] == [*(str(n).encode() for n in range(50)), None]
    assert [record.header_text("message-id") for record in records] == [*names, "my-own-name"]
    assert records[9].header("n") == bytes([9, 255])
    assert Relay(outboxes(), cluster.bootstrap).run(until_empty=True) == 0
    db.close()


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_relays_one_works_and_the_other_takes_over(cluster: Cluster, place: Any, kind: str) -> None:
    outboxes, connect = place(kind)
    topic, outbox, db = cluster.topic(), outboxes(), connect()

    def put(text: str) -> None:
        outbox.put(db, Send(topic, text))
        db.commit()

    second = Relay(outboxes(), cluster.bootstrap, poll_seconds=0.05)
    with Relay(outboxes(), cluster.bootstrap, poll_seconds=0.05) as first:
        put("a")
        until(lambda: first.published == 1, "the first works")
        second.__enter__()
        put("b")
        until(lambda: first.published == 2, "still the first")
        assert second.published == 0
    put("c")
    until(lambda: second.published == 1, "the second took over")
    second.__exit__(None, None, None)
    assert cluster.texts(topic) == ["a", "b", "c"]
    db.close()


@pytest.mark.needs("postgres", "initdb")
def test_an_event_that_is_committed_late_is_published_late_and_not_lost(cluster: Cluster, place: Any) -> None:
    outboxes, connect = place("postgres")
    topic, outbox = cluster.topic(), outboxes()
    slow, quick = connect(), connect()
    outbox.put(slow, Send(topic, "slow"))
    outbox.put(quick, Send(topic, "quick"))
    quick.commit()
    assert Relay(outboxes(), cluster.bootstrap).run(until_empty=True) == 1
    slow.commit()
    assert Relay(outboxes(), cluster.bootstrap).run(until_empty=True) == 1
    assert cluster.texts(topic) == ["quick", "slow"]
    slow.close()
    quick.close()


def test_an_event_the_broker_refuses_stops_the_relay_or_is_parked(cluster: Cluster, place: Any) -> None:
    outboxes, connect = place("sqlite")
    topic, outbox, db = cluster.topic(max_message_bytes="1000"), outboxes(), connect()
    for text in ("a", "x" * 5000, "b"):
        outbox.put(db, Send(topic, text))
    db.commit()
    with pytest.raises(SendFailed):
        Relay(outboxes(), cluster.bootstrap).run(until_empty=True)
    Relay(outboxes(), cluster.bootstrap, on_refused="park").run(until_empty=True)
    assert sorted(cluster.texts(topic)) == ["a", "b"]
    (reason,) = db.execute("SELECT parked FROM outbox").fetchone()
    assert "size" in reason.lower()


def test_a_relay_in_async_code_ends_in_order_when_cancelled(cluster: Cluster, place: Any) -> None:
    outboxes, connect = place("sqlite")
    topic, outbox, db = cluster.topic(), outboxes(), connect()

    async def main() -> None:
        relay = Relay(outboxes(), cluster.bootstrap, poll_seconds=0.05)
        task = asyncio.create_task(relay.arun())
        outbox.put(db, Send(topic, "a"))
        db.commit()
        while relay.published < 1:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 30))
    assert cluster.texts(topic) == ["a"]


@pytest.mark.needs("postgres", "initdb")
def test_a_relay_without_its_table_makes_it_and_says_so(
    cluster: Cluster, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    import psycopg

    def said() -> list[str]:
        Relay(PostgresOutbox(dsn, table="Typo"), cluster.bootstrap).run(until_empty=True)
        return [line for line in caplog.messages if "no table" in line]

    with psycopg.connect(dsn) as db:
        db.execute("DROP TABLE IF EXISTS typo")
    (line,) = said()
    assert "no table Typo in the database" in line
    assert said() == [line], "not again"


@pytest.mark.needs("postgres", "initdb")
def test_events_are_put_on_async_connections_too(cluster: Cluster, place: Any, dsn: str) -> None:
    outboxes, _ = place("postgres")
    topic = cluster.topic()

    async def main() -> None:
        import psycopg

        async with await psycopg.AsyncConnection.connect(dsn) as db:
            await outboxes().aput(db, Send(topic, "a"))

    asyncio.run(main())
    Relay(outboxes(), cluster.bootstrap).run(until_empty=True)
    assert cluster.texts(topic) == ["a"]
