"""The three loops on a real broker: what comes out, where the group stands, errors, sharing, being stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from tapelog.toolkit import (
    Fenced,
    Loop,
    Record,
    Send,
    SendFailed,
    Skip,
    aio,
    at_least_once,
    at_most_once,
    exactly_once,
)
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster

Make = Callable[..., Loop]
EVERY: list[Make] = [exactly_once, at_least_once, at_most_once]
IN_PARTS = 3


def copier(out: str) -> Callable[[Record], Send]:
    """Sends every value on, with its key and where it came from."""
    return lambda record: Send(out, record.value, record.key, {"from": record.coordinates})


@pytest.mark.parametrize("make", EVERY)
def test_everything_comes_through_once_when_nothing_goes_wrong(cluster: Cluster, make: Make) -> None:
    source, out, group = cluster.filled(range(1000), IN_PARTS), cluster.topic(2), cluster.fresh()
    stats = make(cluster.bootstrap, group=group, topics=source, handle=copier(out)).run(to_end=True)
    assert sorted(map(int, cluster.texts(out))) == list(range(1000))
    assert sum(cluster.committed(group, source).values()) == 1000
    assert (stats.handled, stats.sent, stats.undone) == (1000, 1000, 0)


@pytest.mark.parametrize("make", EVERY)
def test_a_second_run_goes_on_where_the_first_ended(cluster: Cluster, make: Make) -> None:
    source, out, group = cluster.filled(range(50)), cluster.topic(), cluster.fresh()
    loop = make(cluster.bootstrap, group=group, topics=source, handle=copier(out))
    loop.run(to_end=True)
    cluster.fill(source, range(50, 80))
    assert loop.run(to_end=True).handled == 30
    assert cluster.texts(out) == [str(number) for number in range(80)]


@pytest.mark.parametrize("make", EVERY)
def test_the_newer_group_protocol_and_eager_assignors_work_too(cluster: Cluster, make: Make) -> None:
    for settings in ({"group.protocol": "consumer"}, {"partition.assignment.strategy": "range"}):
        source, out = cluster.filled(range(100), IN_PARTS), cluster.topic()
        loop = make(cluster.bootstrap, group=cluster.fresh(), topics=source, handle=copier(out), consumer=settings)
        loop.run(to_end=True)
        assert sorted(map(int, cluster.texts(out))) == list(range(100))


@pytest.mark.parametrize("make", [exactly_once, at_least_once])
def test_an_error_stops_the_loop_before_the_record_and_the_next_run_meets_it_again(
    cluster: Cluster, make: Make
) -> None:
    source, out, group = cluster.filled(range(10)), cluster.topic(), cluster.fresh()

    def handle(record: Record) -> Send:
        if record.text() == "6" and broken:
            raise ValueError("six")
        return Send(out, record.value)

    broken = True
    loop = make(cluster.bootstrap, group=group, topics=source, handle=handle)
    with pytest.raises(ValueError, match="six"):
        loop.run(to_end=True)
    assert cluster.texts(out) == list("012345")
    assert cluster.committed(group, source) == {0: 6}
    broken = False
    loop.run(to_end=True)
    assert cluster.texts(out) == list("0123456789")


@pytest.mark.parametrize("make", EVERY)
def test_members_that_come_and_go_share_the_work(cluster: Cluster, make: Make) -> None:
    source, out, group = cluster.topic(6), cluster.topic(2), cluster.fresh()
    done = Counter[str]()
    sent = 0

    def more() -> None:
        nonlocal sent
        cluster.fill(source, range(sent, sent + 60), partitions=6)
        sent += 60

    def both(*names: str) -> bool:
        more()
        return all(done[name] for name in names)

    def work(name: str) -> Callable[[Record], Send]:
        def handle(record: Record) -> Send:
            done[name] += 1
            return Send(out, record.value)

        return handle

    def member(name: str) -> Loop:
        settings = {"heartbeat.interval.ms": 100, "session.timeout.ms": 6000}
        return make(cluster.bootstrap, group=group, topics=source, handle=work(name), consumer=settings)

    with member("a"):
        until(lambda: both("a"), "the first works", pause=0.1)
        with member("b"), member("c"):
            until(lambda: both("b", "c"), "the others have their part", pause=0.1)
        done.clear()
        until(lambda: both("a"), "the first goes on alone", pause=0.1)
        until(lambda: len({r.text() for r in cluster.read(out)}) == sent, "all came through", pause=0.2)
    if make is not at_least_once:
        assert Counter(cluster.texts(out)) == Counter(str(number) for number in range(sent))


def test_what_is_aborted_is_seen_by_nobody_who_reads_committed(cluster: Cluster) -> None:
    source, out = cluster.filled(range(20)), cluster.topic()
    big = b"x" * 3_000_000

    def handle(record: Record) -> list[Send]:
        return [Send(out, record.value), *([Send(out, big)] if record.text() == "15" else [])]

    options: dict[str, Any] = {"on_error": Skip(), "producer": {"message.max.bytes": 2_000_000}}
    group = cluster.fresh()
    stats = exactly_once(cluster.bootstrap, group=group, topics=source, handle=handle, **options).run(to_end=True)
    assert stats.undone == 1 and stats.failed == 1
    assert cluster.texts(out) == [str(number) for number in range(20) if number != 15]
    raw = [record.text() for record in cluster.read(out, isolation="read_uncommitted")]
    assert len(raw) >= 19
    assert cluster.committed(group, source) == {0: 20}


def test_a_message_the_broker_refuses_ends_the_loop_or_goes_by_the_policy(cluster: Cluster) -> None:
    source, out = cluster.filled(range(5)), cluster.topic(max_message_bytes="1000")

    def handle(record: Record) -> Send:
        return Send(out, b"x" * (5000 if record.text() == "3" else 10))

    for make in (exactly_once, at_least_once):
        group = cluster.fresh()
        with pytest.raises(SendFailed, match=r"(?i)message size|too large"):
            make(cluster.bootstrap, group=group, topics=source, handle=handle).run(to_end=True)
        make(cluster.bootstrap, group=group, topics=source, handle=handle, on_error=Skip()).run(to_end=True)
        assert cluster.committed(group, source) == {0: 5}
    assert len(cluster.read(out)) >= 8


def test_a_newer_instance_with_the_same_name_fences_the_older(cluster: Cluster) -> None:
    source, out, group = cluster.filled(range(10)), cluster.topic(), cluster.fresh()

    def first(record: Record) -> Send:
        if record.text() == "5":
            taken_over.run(to_end=False, signals=False)
        return Send(out, record.value)

    def second(record: Record) -> None:
        """It has started: that was enough."""
        taken_over.stop()

    other = cluster.filled(["another"])
    taken_over = exactly_once(
        cluster.bootstrap, group=cluster.fresh(), topics=other, handle=second, transactional_id=group
    )
    older = exactly_once(
        cluster.bootstrap, group=group, topics=source, handle=first, transactional_id=group, batch_records=10
    )
    with pytest.raises(Fenced, match=group):
        older.run(to_end=True)
    assert cluster.texts(out) == []


def test_a_handler_slower_than_the_transaction_allows_is_an_undone_batch_and_not_the_end(cluster: Cluster) -> None:
    source, out, group = cluster.topic(), cluster.topic(), cluster.fresh()
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    slow = [7.0]

    def fill(text: str) -> None:
        producer.produce(source, text)
        assert producer.flush(30) == 0

    def handle(record: Record) -> Send:
        if record.text() == "first" and slow:
            fill("second")  # by a producer that is connected: it comes while the batch of the first is open
        if record.text() == "second" and slow:
            threading.Event().wait(slow.pop())
        return Send(out, record.value)

    loop = exactly_once(
        cluster.bootstrap, group=group, topics=source, handle=handle, transaction_timeout=2.5, batch_seconds=2.0
    )
    fill("first")
    stats = loop.run(to_end=True)
    assert stats.undone >= 1
    assert cluster.texts(out) == ["first", "second"]


@pytest.mark.parametrize("make", EVERY)
def test_a_signal_ends_a_run_in_order(cluster: Cluster, make: Make) -> None:
    source, out, group = cluster.filled(range(20)), cluster.topic(), cluster.fresh()
    before = signal.getsignal(signal.SIGTERM)

    def handle(record: Record) -> Send:
        if record.text() == "19":
            os.kill(os.getpid(), signal.SIGTERM)
        return Send(out, record.value)

    stats = make(cluster.bootstrap, group=group, topics=source, handle=handle).run()
    assert stats.handled == 20
    assert cluster.committed(group, source) == {0: 20} and len(cluster.texts(out)) == 20
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_error_in_the_background_comes_out_of_the_block(cluster: Cluster) -> None:
    def handle(record: Record) -> None:
        raise ZeroDivisionError

    source = cluster.filled(range(1))
    with (
        pytest.raises(ZeroDivisionError),
        at_least_once(cluster.bootstrap, group=cluster.fresh(), topics=source, handle=handle) as loop,
    ):
        until(lambda: not loop.alive, "ended")


@pytest.mark.parametrize("name", ["exactly_once", "at_least_once", "at_most_once"])
@pytest.mark.parametrize("order", ["partition", "key"])
def test_async_handlers_run_side_by_side_and_keep_the_order(
    cluster: Cluster, name: str, order: aio.runner.Order
) -> None:
    source, out, group = cluster.topic(2), cluster.topic(), cluster.fresh()
    for turn in range(20):
        cluster.fill(source, ["a", "b", "c", "d"], headers={"turn": str(turn)})
    at_once = [0, 0]

    async def handle(record: Record) -> Send:
        at_once[0] += 1
        at_once[1] = max(at_once)
        await asyncio.sleep(0.001)
        at_once[0] -= 1
        return Send(out, record.header("turn"), record.key)

    loop = getattr(aio, name)(cluster.bootstrap, group=group, topics=source, handle=handle, order=order)
    stats = asyncio.run(loop.run(to_end=True))
    assert stats.handled == 80
    records = cluster.read(out)
    for key in (b"a", b"b", b"c", b"d"):
        assert [record.text() for record in records if record.key == key] == [str(turn) for turn in range(20)]
    assert order == "partition" or at_once[1] >= 2


def test_a_cancelled_async_loop_finishes_what_it_has_begun(cluster: Cluster) -> None:
    source, out, group = cluster.filled(range(10)), cluster.topic(), cluster.fresh()

    async def main() -> None:
        begun = asyncio.Event()

        async def handle(record: Record) -> Send:
            begun.set()
            await asyncio.sleep(0.05)
            return Send(out, record.value)

        loop = aio.exactly_once(cluster.bootstrap, group=group, topics=source, handle=handle, batch_seconds=0.2)
        task = asyncio.create_task(loop.run())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 1 <= loop.stats.handled <= 10

    asyncio.run(main())
    done = cluster.texts(out)
    assert done == [str(number) for number in range(len(done))] and done
    assert cluster.committed(group, source) == {0: len(done)}


def test_an_async_loop_beside_other_work(cluster: Cluster) -> None:
    source, out, group = cluster.filled(range(10)), cluster.topic(), cluster.fresh()

    async def handle(record: Record) -> Send:
        return Send(out, record.value)

    async def main() -> None:
        async with aio.at_least_once(cluster.bootstrap, group=group, topics=source, handle=handle) as loop:
            while loop.stats.handled < 10 and loop.alive:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len(cluster.texts(out)) == 10


@pytest.mark.slow
@pytest.mark.parametrize("make", [exactly_once, at_least_once])
def test_a_handler_that_is_slower_than_the_group_allows_loses_its_partition_and_goes_on(
    cluster: Cluster, make: Make
) -> None:
    source, out, group = cluster.filled(range(3)), cluster.topic(), cluster.fresh()
    slow = [9.0]

    def handle(record: Record) -> Send:
        if record.text() == "1" and slow:
            threading.Event().wait(slow.pop())
        return Send(out, record.value)

    settings = {"max.poll.interval.ms": 6000, "session.timeout.ms": 6000}
    loop = make(cluster.bootstrap, group=group, topics=source, handle=handle, consumer=settings, batch_records=1)
    with loop:
        until(lambda: cluster.committed(group, source) == {0: 3}, "all is done", pause=0.2)
    seen = cluster.texts(out)
    assert sorted(set(seen)) == list("012")
    if make is exactly_once:
        assert seen == list("012")


@pytest.mark.parametrize("make", EVERY)
def test_open_work_is_committed_when_partitions_are_given_up(cluster: Cluster, make: Make) -> None:
    source, out, group = cluster.topic(6), cluster.topic(2), cluster.fresh()
    cluster.fill(source, range(60), partitions=6)
    done, handled = Counter[str](), Counter[str]()

    def member(name: str) -> Loop:
        def handle(record: Record) -> Send:
            done[name] += 1
            handled[record.text()] += 1
            return Send(out, record.value)

        settings = {"heartbeat.interval.ms": 100, "session.timeout.ms": 6000}
        return make(cluster.bootstrap, group=group, topics=source, handle=handle, consumer=settings, batch_seconds=25.0)

    with member("a"):
        until(lambda: done["a"] == 60, "all is worked on, and nothing committed")
        with member("b"):
            number = 60

            def both() -> bool:
                nonlocal number
                cluster.fill(source, range(number, number + 6), partitions=6)
                number += 6
                return done["b"] > 0

            until(both, "the other has its part", pause=0.1)
    assert set(handled.values()) == {1}, "what was committed when partitions were given up does not come again"
