"""IdempotentConsumer on a real broker: each message once in the database, whatever comes twice."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tapelog.toolkit import (
    ID_HEADER,
    AsyncIdempotentConsumer,
    AsyncSQLiteStore,
    CausalOrder,
    IdempotentConsumer,
    Record,
    RetryTopics,
    SQLiteStore,
)
from tapelog.toolkit.causal import named
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster


def numbers(path: Path) -> list[str]:
    """What the handler wrote."""
    try:
        return [text for (text,) in sqlite3.connect(path).execute("SELECT x FROM t ORDER BY rowid")]
    except sqlite3.OperationalError:  # no such table yet
        return []


def write(record: Record, db: sqlite3.Connection) -> None:
    """The effect."""
    db.execute("CREATE TABLE IF NOT EXISTS t (x TEXT)")
    db.execute("INSERT INTO t VALUES (?)", (record.text(),))


def test_duplicates_are_recognised_by_their_id_and_redelivery_by_its_coordinates(
    cluster: Cluster, tmp_path: Path
) -> None:
    topic, path = cluster.topic(), tmp_path / "x.db"
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for text in ("a", "b", "a", "c", "b"):
        producer.produce(topic, text, headers={ID_HEADER: f"id-{text}"})
    producer.produce(topic, "a")
    producer.flush()
    scope = cluster.fresh()
    for _ in range(2):  # a new group reads all again; the scope remembers
        consumer = IdempotentConsumer(
            cluster.bootstrap,
            group=cluster.fresh(),
            topics=topic,
            store=SQLiteStore(path),
            handle=write,
            scope=scope,
        )
        consumer.run(to_end=True)
    assert numbers(path) == ["a", "b", "c", "a"]
    assert consumer.duplicates == 6


def test_a_failed_message_leaves_no_trace_and_succeeds_when_it_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    topic, path, failed = cluster.filled(range(5)), tmp_path / "x.db", []

    def handle(record: Record, db: sqlite3.Connection) -> None:
        write(record, db)
        if record.text() == "2" and not failed:
            failed.append(1)
            raise ConnectionError

    with IdempotentConsumer(
        cluster.bootstrap,
        group=cluster.fresh(),
        topics=topic,
        store=SQLiteStore(path),
        handle=handle,
        on_error=RetryTopics("200ms"),
    ):
        until(lambda: path.exists() and len(numbers(path)) == 5, "all are there")
    assert sorted(numbers(path)) == list("01234")


def test_what_was_handled_before_a_restart_counts_as_a_dependency(cluster: Cluster, tmp_path: Path) -> None:
    topic, path, group = cluster.topic(), tmp_path / "x.db", cluster.fresh()
    producer = Producer({"bootstrap.servers": cluster.bootstrap})

    def run() -> None:
        consumer = IdempotentConsumer(
            cluster.bootstrap,
            group=group,
            topics=topic,
            store=SQLiteStore(path),
            handle=write,
            causal=CausalOrder(max_wait="60s"),
        )
        consumer.run(to_end=True)

    producer.produce(topic, "post", headers=named("post"))
    producer.flush()
    run()
    producer.produce(topic, "reply", headers=named("reply", "post"))
    producer.flush()
    run()
    assert numbers(path) == ["post", "reply"]


@pytest.mark.parametrize("causal", [None, CausalOrder()])
def test_the_async_one_promises_the_same(cluster: Cluster, tmp_path: Path, causal: CausalOrder | None) -> None:
    topic, path = cluster.filled(range(30), 3), tmp_path / "x.db"
    cluster.fill(topic, ["x", "x", "x"], headers={ID_HEADER: "x"})

    async def handle(record: Record, db: sqlite3.Connection) -> None:
        write(record, db)
        await asyncio.sleep(0)

    async def main() -> int:
        consumer = AsyncIdempotentConsumer(
            cluster.bootstrap,
            group=cluster.fresh(),
            topics=topic,
            store=AsyncSQLiteStore(path),
            handle=handle,
            causal=causal,
            order="key",
        )
        await consumer.run(to_end=True)
        return consumer.duplicates

    assert asyncio.run(main()) == 2
    assert sorted(numbers(path)) == sorted([*map(str, range(30)), "x"])
