"""aiokafka: the asyncio client; produce, consume, codecs, groups under every assignor it has, admin."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import MessageSizeTooLargeError

from tests.support.names import Fresh, LeaderOf, MakeTopic
from tests.support.nodes import one_node
from tests.support.raw import Raw, batches, fetch
from tests.support.waiting import PATIENCE_S


async def eventually(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
    """Wait until the condition holds, letting the loop run."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.02)


def run(work: Awaitable[None]) -> None:
    """Run one test's coroutine, bounded."""

    async def bounded() -> None:
        await asyncio.wait_for(work, 4 * PATIENCE_S)

    asyncio.run(bounded())


async def read(bootstrap: str, topic: str, count: int) -> list[Any]:
    """`count` records from the beginning of partition 0."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [await asyncio.wait_for(consumer.getone(), PATIENCE_S) for _ in range(count)]
    finally:
        await consumer.stop()


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back_whole_and_in_order(
    bootstrap: str, make_topic: MakeTopic, leader_of: LeaderOf, codec: str | None
) -> None:
    topic = make_topic()

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20)
        await producer.start()
        started = int(time.time() * 1000)
        sent, pending = [], []
        for number in range(200):
            key = None if number % 7 == 1 else b"key-%d" % number
            value = None if number % 7 == 0 else b"value-%d " % number * 10
            headers = [("trace", b"%d" % number), ("empty", b""), ("trace", b"again")] if number % 2 else []
            pending.append(await producer.send(topic, value, key, 0, started + number, headers))
            sent.append((number, started + number, key, value, tuple(headers)))
        await asyncio.gather(*pending)
        await producer.stop()
        got = await read(bootstrap, topic, 200)
        assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in got] == sent

    run(work())
    with Raw(leader_of(topic)) as raw:
        _code, _watermark, data = fetch(raw, topic, 0)
    expected = [None, "gzip", "snappy", "lz4", "zstd"].index(codec)
    assert {attributes & 7 for _first, _last, attributes, _magic in batches(data)} == {expected}


def test_ten_megabytes_pass_where_the_topic_allows_them(bootstrap: str, make_topic: MakeTopic) -> None:
    large, small = make_topic(max_message_bytes="11000000"), make_topic(max_message_bytes="100000")
    value = bytes(range(256)) * 40_000

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_request_size=11_000_000)
        await producer.start()
        try:
            assert (await producer.send_and_wait(large, value, partition=0)).offset == 0
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(small, value[:200_000], partition=0)
        finally:
            await producer.stop()
        assert (await read(bootstrap, large, 1))[0].value == value

    run(work())


def test_an_idempotent_producer_keeps_order_without_gaps(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=500)
        await producer.start()
        await asyncio.gather(*[await producer.send(topic, b"%d" % number, partition=0) for number in range(1000)])
        await producer.stop()
        assert [int(one.value) for one in await read(bootstrap, topic, 1000)] == list(range(1000))

    run(work())


def test_seek_by_offset_and_time(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    here = TopicPartition(topic, 0)
    start = int(time.time() * 1000) - 1_000_000

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        for number in range(50):
            await producer.send(topic, b"%d" % number, partition=0, timestamp_ms=start + number * 1000)
        await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
        await consumer.start()
        consumer.assign([here])
        found = await consumer.offsets_for_times({here: start + 20_500})
        assert (found[here].offset, found[here].timestamp) == (21, start + 21_000)
        assert await consumer.end_offsets([here]) == {here: 50}
        assert await consumer.beginning_offsets([here]) == {here: 0}
        consumer.seek(here, 42)
        assert (await consumer.getone()).value == b"42"
        await consumer.seek_to_beginning(here)
        assert (await consumer.getone()).value == b"0"
        await consumer.stop()

    run(work())


class Member:
    """A group member as a task."""

    def __init__(self, bootstrap: str, group: str, topic: str, assignor: type) -> None:
        self.owned: set[int] = set()
        self.read: set[tuple[int, int]] = set()
        self.consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=30_000,
            heartbeat_interval_ms=200,
            auto_commit_interval_ms=200,
            partition_assignment_strategy=(assignor,),
        )
        self.stopping = False
        self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        await self.consumer.start()
        while not self.stopping:
            for place, records in (await self.consumer.getmany(timeout_ms=50)).items():
                self.read.update((place.partition, record.offset) for record in records)
            self.owned = {place.partition for place in self.consumer.assignment()}
        await self.consumer.stop()
        self.owned = set()

    async def leave(self) -> None:
        """Close cleanly."""
        self.stopping = True
        await asyncio.wait_for(self.task, PATIENCE_S)


def shares(*members: Member) -> list[int]:
    """How many partitions each owns, when together they own six distinct ones; else nothing."""
    owned = [one.owned for one in members]
    return sorted(map(len, owned)) if set().union(*owned) == set(range(6)) and sum(map(len, owned)) == 6 else []


@pytest.mark.parametrize("assignor", [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor])
def test_members_come_and_go_and_every_record_is_read(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, assignor: type
) -> None:
    topic, group = make_topic(6), fresh()

    async def work() -> None:
        first = Member(bootstrap, group, topic, assignor)
        await eventually(lambda: shares(first) == [6], "one member owns all")
        second, third = Member(bootstrap, group, topic, assignor), Member(bootstrap, group, topic, assignor)
        await eventually(lambda: shares(first, second, third) == [2, 2, 2], "three share")
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        await asyncio.gather(*[await producer.send(topic, b"%d" % n, partition=n % 6) for n in range(300)])
        await producer.stop()
        await first.leave()
        await eventually(lambda: shares(second, third) == [3, 3], "two share")
        wanted = {(partition, offset) for partition in range(6) for offset in range(50)}
        await eventually(lambda: first.read | second.read | third.read == wanted, "every record read")
        await second.leave()
        await third.leave()
        reader = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
        await reader.start()
        assert [await reader.committed(TopicPartition(topic, partition)) for partition in range(6)] == [50] * 6
        await reader.stop()

    run(work())


@one_node
def test_admin_manages_topics_and_groups(bootstrap: str, fresh: Fresh) -> None:
    topic = fresh()

    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1000000"})])
            (described,) = await admin.describe_topics([topic])
            assert (described["error_code"], len(described["partitions"])) == (0, 2)
            await admin.create_partitions({topic: NewPartitions(3)})
            assert topic in await admin.list_topics()
            cluster = await admin.describe_cluster()
            assert len(cluster["brokers"]) == 1
            await admin.list_consumer_groups()
            await admin.delete_topics([topic])
        finally:
            await admin.close()

    run(work())
