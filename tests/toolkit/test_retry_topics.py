"""Retry topics, dead letters and redrive on a real broker, under both delivering loops and async."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from tapelog.toolkit import (
    DeadLetter,
    Loop,
    Record,
    RetryInPlace,
    RetryTopics,
    Send,
    aio,
    at_least_once,
    exactly_once,
    redrive,
)
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster

Make = Callable[..., Loop]


@pytest.mark.parametrize("make", [exactly_once, at_least_once])
def test_failed_records_come_back_later_and_the_others_do_not_wait(cluster: Cluster, make: Make) -> None:
    source, out = cluster.filled(range(20), 2), cluster.topic()
    calls: dict[str, list[float]] = {}

    def handle(record: Record) -> Send:
        calls.setdefault(record.text(), []).append(time.monotonic())
        if record.text() == "7" and len(calls["7"]) < 3:
            raise ConnectionError("the shop is closed")
        if record.text() == "9":
            raise ValueError("never")
        return Send(out, record.value)

    policy = RetryTopics("3s", "500ms", errors=ConnectionError)
    with make(cluster.bootstrap, group=cluster.fresh(), topics=source, handle=handle, on_error=policy):
        until(lambda: len(cluster.texts(out)) == 19, "all but the dead one are there", pause=0.1)
    assert sorted(map(int, cluster.texts(out))) == [number for number in range(20) if number != 9]
    first, second, third = calls["7"]
    assert second - first > 2.99 and third - second > 0.49
    assert max(ats[0] for text, ats in calls.items() if text != "7") < second, "nobody else waited"
    (dead,) = cluster.read(f"{source}.dead")
    assert (dead.text(), dead.header_text("error-class"), dead.header_text("attempts")) == ("9", "ValueError", "1")


def test_the_topics_of_the_policy_are_created_like_the_one_they_belong_to(cluster: Cluster) -> None:
    source = cluster.filled(["x"], 3)

    def handle(record: Record) -> None:
        raise ValueError

    policy = RetryInPlace(2, then=RetryTopics("100ms"))
    loop = at_least_once(cluster.bootstrap, group=cluster.fresh(), topics=source, handle=handle, on_error=policy)
    assert loop.run(to_end=True).failed >= 2
    for name in (f"{source}.retry.100ms", f"{source}.dead"):
        assert cluster.partitions(name) == 3


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_dead_letters_are_sent_back_once_and_as_many_as_asked_for(cluster: Cluster, delivery: str) -> None:
    source, group = cluster.filled(range(12), 2), cluster.fresh()
    broken = True
    seen: list[str] = []

    def handle(record: Record) -> None:
        if broken:
            raise ValueError(f"{int(record.text()) % 3}")
        seen.append(record.text())

    loop = at_least_once(cluster.bootstrap, group=group, topics=source, handle=handle, on_error=DeadLetter())
    loop.run(to_end=True)
    broken = False
    dead = f"{source}.dead"
    assert len(cluster.read(dead)) == 12

    def threes(record: Record) -> bool:
        return record.header_text("error-message") == "0"

    first = redrive(cluster.bootstrap, dead, where=threes, limit=2, delivery=delivery)  # type: ignore[arg-type]
    assert first.sent == 2
    second = redrive(cluster.bootstrap, dead, where=threes, delivery=delivery)  # type: ignore[arg-type]
    assert (second.sent, first.passed_over + second.passed_over) == (2, 8)
    assert redrive(cluster.bootstrap, dead, delivery=delivery).sent == 0  # type: ignore[arg-type]
    loop.run(to_end=True)
    assert sorted(map(int, seen)) == [0, 3, 6, 9]
    back = [record for record in cluster.read(source) if record.header("redriven")]
    assert len(back) == 4 and all(record.header("error-class") is None for record in back)


def test_retry_topics_work_for_async_handlers_too(cluster: Cluster) -> None:
    source, out = cluster.filled(range(5)), cluster.topic()
    failed: set[str] = set()

    async def handle(record: Record) -> Send:
        if record.text() not in failed:
            failed.add(record.text())
            raise ConnectionError
        return Send(out, record.value)

    loop = aio.exactly_once(
        cluster.bootstrap, group=cluster.fresh(), topics=source, handle=handle, on_error=RetryTopics("200ms")
    )

    async def main() -> None:
        async with loop:
            while loop.stats.sent < 10:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert sorted(cluster.texts(out)) == list("01234")
