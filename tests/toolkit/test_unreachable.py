"""No broker, or no topic: what loops of every kind say, and how they end. On the real client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapelog.testing import Broker
from tapelog.toolkit import (
    AsyncIdempotentConsumer,
    AsyncSQLiteStore,
    IdempotentConsumer,
    NoBroker,
    NoTopic,
    Record,
    Relay,
    RetryTopics,
    Send,
    SQLiteOutbox,
    SQLiteStore,
    Stats,
    aio,
    at_least_once,
    at_most_once,
    exactly_once,
    redrive,
)
from tests.support.ports import free_port
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster

SOON = 0.5
"""The patience of these loops, in seconds."""


def look(record: Record, db: object = None) -> None:
    """Handle it."""


async def look_later(record: Record, db: object = None) -> None:
    """Handle it."""


def sync(make: Callable[..., Any], **more: Any) -> Callable[..., Stats]:
    """Runs a sync loop to the end."""
    return lambda address, **where: make(address, handle=look, **more, **where).run(to_end=True)


def later(make: Callable[..., Any], **more: Any) -> Callable[..., Stats]:
    """Runs an async loop to the end."""
    return lambda address, **where: asyncio.run(make(address, handle=look_later, **more, **where).run(to_end=True))


KINDS: dict[str, Callable[[Path], Callable[..., Stats]]] = {
    "exactly_once": lambda _: sync(exactly_once),
    "at_least_once": lambda _: sync(at_least_once),
    "at_most_once": lambda _: sync(at_most_once),
    "with retry topics": lambda _: sync(at_least_once, on_error=RetryTopics("1s"), create_topics=False),
    "consumer protocol": lambda _: sync(at_least_once, consumer={"group.protocol": "consumer"}),
    "idempotent": lambda path: sync(IdempotentConsumer, store=SQLiteStore(path / "store.db")),
    "aio exactly_once": lambda _: later(aio.exactly_once),
    "aio at_least_once": lambda _: later(aio.at_least_once),
    "aio at_most_once": lambda _: later(aio.at_most_once),
    "aio idempotent": lambda path: later(AsyncIdempotentConsumer, store=AsyncSQLiteStore(path / "store.db")),
}


def said(caplog: pytest.LogCaptureFixture, part: str) -> list[str]:
    """Lines with this in them that people see."""
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and part in r.getMessage()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_to_the_end_does_not_wait_for_ever_for_a_broker(kind: str, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(NoBroker, match=address):
        KINDS[kind](tmp_path)(address, group="g", topics="in", patience_seconds=SOON)


def test_a_loop_that_found_no_broker_closes_its_client() -> None:
    loop = at_least_once(f"127.0.0.1:{free_port()}", group="g", topics="in", handle=look, patience_seconds=SOON)
    with pytest.raises(NoBroker):
        loop.run(to_end=True)
    assert loop._running is not None
    with pytest.raises(RuntimeError, match="closed"):
        loop._running._consumer.poll(0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_to_the_end_does_not_wait_for_ever_for_a_topic(cluster: Cluster, kind: str, tmp_path: Path) -> None:
    near = cluster.filled(range(3))
    missing = f"{near}s"
    with pytest.raises(NoTopic, match=f"there is no topic '{missing}' on .*, but there is .*{near}"):
        KINDS[kind](tmp_path)(cluster.bootstrap, group=cluster.fresh(), topics=missing, patience_seconds=SOON)


@pytest.mark.parametrize("make", [exactly_once, at_least_once, at_most_once])
def test_what_was_read_from_another_topic_counts_when_one_is_missing(cluster: Cluster, make: Any) -> None:
    source, group = cluster.filled(range(5)), cluster.fresh()
    with pytest.raises(NoTopic, match="nosuch"):
        make(cluster.bootstrap, group=group, topics=[source, "nosuch"], handle=look, patience_seconds=SOON).run(
            to_end=True
        )
    assert cluster.committed(group, source) == {0: 5}


def test_a_pattern_that_matches_nothing_is_a_missing_topic(cluster: Cluster) -> None:
    with pytest.raises(NoTopic, match=r"no topic on .* matches"):
        sync(at_least_once)(cluster.bootstrap, group=cluster.fresh(), topics="^nosuch.*", patience_seconds=SOON)


def test_letters_of_a_topic_that_does_not_exist_cannot_be_redriven(cluster: Cluster) -> None:
    with pytest.raises(NoTopic, match="nosuch"):
        redrive(cluster.bootstrap, "nosuch", patience_seconds=SOON)


@pytest.mark.parametrize("make", [exactly_once, at_least_once, at_most_once])
def test_a_loop_says_that_no_broker_answers_and_works_once_one_does(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(listen=f"127.0.0.1:{free_port()}")
    seen: list[bytes] = []
    loop = make(
        broker.listen,
        group="g",
        topics="in",
        handle=lambda record: seen.append(record.data),
        patience_seconds=SOON,
        consumer={"reconnect.backoff.max.ms": 200},
    )
    with loop:
        until(lambda: said(caplog, f"no broker has answered on {broker.listen}"), "silence is said")
        assert loop.alive
        with broker:
            Cluster(broker.bootstrap, lambda *_: "", str).fill("in", ["a"])
            until(lambda: seen, "it works")
    assert len(said(caplog, "no broker has answered")) == 1 and len(said(caplog, "answers again")) == 1


def test_an_async_loop_says_it_too(caplog: pytest.LogCaptureFixture) -> None:
    address = f"127.0.0.1:{free_port()}"

    async def main() -> None:
        async with aio.exactly_once(address, group="g", topics="in", handle=look_later, patience_seconds=SOON) as loop:
            while not said(caplog, "no broker has answered"):
                await asyncio.sleep(0.02)
            assert loop.alive

    asyncio.run(asyncio.wait_for(main(), 120))


@pytest.mark.parametrize("make", [exactly_once, at_least_once, at_most_once])
def test_a_loop_says_that_a_topic_is_missing_and_works_once_it_exists(
    cluster: Cluster, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    name, seen = cluster.fresh(), list[bytes]()
    with make(
        cluster.bootstrap,
        group=cluster.fresh(),
        topics=name,
        handle=lambda record: seen.append(record.data),
        patience_seconds=SOON,
    ) as loop:
        until(lambda: said(caplog, f"there is no topic '{name}'"), "it is said")
        assert loop.alive
        cluster.fill(name, ["a"])
        until(lambda: seen, "it works")
    assert len(said(caplog, "there is no topic")) == 1


def test_a_relay_says_that_no_broker_answers_and_does_not_wait_for_ever_to_be_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import sqlite3

    path, address = tmp_path / "shop.db", f"127.0.0.1:{free_port()}"
    db, outbox = sqlite3.connect(path), SQLiteOutbox(path)
    outbox.create(db)
    outbox.put(db, Send("out", "x"))
    db.commit()
    with pytest.raises(NoBroker, match=address):
        Relay(SQLiteOutbox(path), address, patience_seconds=SOON).run(until_empty=True)
    with Relay(SQLiteOutbox(path), address, patience_seconds=SOON) as relay:
        until(lambda: said(caplog, f"no broker has answered on {address}"), "it is said")
        assert relay.published == 0
    assert said(caplog, "events that were not published stay")
    assert db.execute("SELECT count(*) FROM outbox").fetchone() == (1,)
