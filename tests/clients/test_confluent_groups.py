"""confluent-kafka in groups: members join and leave under every assignor, static members, offsets, death."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import until


class Member(threading.Thread):
    """A group member in a thread of its own: polls, commits each batch, notes what it owns and what it read."""

    def __init__(self, bootstrap: str, group: str, topics: list[str], **config: Any) -> None:
        super().__init__(daemon=True)
        self.owned: set[tuple[str, int]] = set()
        self.revoked: set[tuple[str, int]] = set()
        self.read: list[tuple[str, int, int]] = []
        self.assignments = 0
        self.fatal = ""
        self.stopping = threading.Event()
        newer = config.get("group.protocol") == "consumer"  # there the broker decides about these times
        times = {} if newer else {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 200}
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
                **times,
                **config,
            }
        )
        self.incremental = newer or config.get("partition.assignment.strategy") == "cooperative-sticky"
        self.consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
        self.start()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments += 1
        places = {(p.topic, p.partition) for p in partitions}
        self.owned = self.owned | places if self.incremental else places

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        places = {(p.topic, p.partition) for p in partitions}
        self.owned = self.owned - places
        self.revoked |= places

    def run(self) -> None:
        uncommitted = False
        while not self.stopping.is_set():
            for message in self.consumer.consume(100, 0.05):
                error = message.error()
                if error is not None:
                    if error.code() == KafkaError._FATAL:
                        self.fatal = str(error)
                    continue
                self.read.append((message.topic() or "", message.partition() or 0, message.offset() or 0))
                uncommitted = True
            if uncommitted:
                try:
                    self.consumer.commit(asynchronous=False)
                    uncommitted = False
                except KafkaException:
                    pass  # a rebalance is under way: tried again, or the record is read again by another
        self.consumer.close()

    def leave(self) -> None:
        """Close cleanly: the group is told."""
        self.stopping.set()
        self.join(60)
        assert not self.is_alive()


MakeMember = Callable[..., Member]


@pytest.fixture
def member(bootstrap: str) -> Iterator[MakeMember]:
    """member(group, topics, **config): a running member that is stopped when the test ends."""
    running: list[Member] = []

    def make(group: str, topics: list[str], **config: Any) -> Member:
        running.append(Member(bootstrap, group, topics, **config))
        return running[-1]

    yield make
    for one in running:
        if one.is_alive():
            one.leave()


def settled(members: list[Member], places: set[tuple[str, int]]) -> Callable[[], bool]:
    """Every partition is owned by exactly one member, and the shares differ by at most one."""

    def check() -> bool:
        owned = [set(one.owned) for one in members]
        sizes = [len(one) for one in owned]
        return set().union(*owned) == places and sum(sizes) == len(places) and max(sizes) - min(sizes) <= 1

    return check


class Feed(threading.Thread):
    """Records flowing into every partition until stopped; counts what was acknowledged."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True})
        self.topic, self.partitions = topic, partitions
        self.stopping = threading.Event()
        self.start()

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(0.01):
            self.producer.produce(self.topic, b"%d" % number, partition=number % self.partitions)
            self.producer.poll(0)
            number += 1

    def finish(self) -> None:
        """Stop, and wait until everything is acknowledged."""
        self.stopping.set()
        self.join(30)
        assert self.producer.flush(20) == 0


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_members_come_and_go_and_every_record_is_read(
    bootstrap: str,
    make_topic: MakeTopic,
    fresh: Fresh,
    member: MakeMember,
    assignor: str,
) -> None:
    topic, group = make_topic(6), fresh()
    places = {(topic, partition) for partition in range(6)}
    config = {"partition.assignment.strategy": assignor}
    feed = Feed(bootstrap, topic, 6)
    first = member(group, [topic], **config)
    until(settled([first], places), "one member owns all")
    second, third = member(group, [topic], **config), member(group, [topic], **config)
    until(settled([first, second, third], places), "three share")
    before = first.assignments
    second.leave()
    until(settled([first, third], places), "two share")
    assert first.assignments > before or assignor != "range"
    fourth = member(group, [topic], **config)
    until(settled([first, third, fourth], places), "three share again")
    feed.finish()
    first.leave()
    until(settled([third, fourth], places), "two share again")

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in range(6)}
    wanted = {(topic, partition, offset) for partition, end in ends.items() for offset in range(end)}
    everyone = [first, second, third, fourth]
    until(lambda: {place for one in everyone for place in one.read} >= wanted, "every record read")

    def committed() -> bool:
        found = consumer.committed([TopicPartition(topic, p) for p in range(6)], timeout=30)
        return {p.partition: p.offset for p in found} == ends

    until(committed, "everything committed")
    consumer.close()


def test_a_static_member_returns_without_disturbing_the_others(
    make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(4), fresh()
    places = {(topic, partition) for partition in range(4)}
    stays = member(group, [topic], **{"group.instance.id": "stays", "session.timeout.ms": 30_000})
    goes = member(group, [topic], **{"group.instance.id": "goes", "session.timeout.ms": 30_000})
    until(settled([stays, goes], places), "two share")
    undisturbed, had = stays.assignments, set(goes.owned)
    goes.leave()  # a static member that closes does not leave the group
    back = member(group, [topic], **{"group.instance.id": "goes", "session.timeout.ms": 30_000})
    until(lambda: back.owned == had, "the same partitions again")
    assert stays.assignments == undisturbed
    usurper = member(group, [topic], **{"group.instance.id": "goes", "session.timeout.ms": 30_000})
    until(lambda: "fenced by other consumer" in back.fatal, "the older one is fenced")
    until(lambda: usurper.owned == had, "the newer one took over")


DYING_MEMBER = """
import sys
from confluent_kafka import Consumer
c = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2],
              "session.timeout.ms": 3000, "heartbeat.interval.ms": 200})
c.subscribe([sys.argv[3]], on_assign=lambda c, ps: print(len(ps), flush=True))
while True:
    c.poll(0.1)
"""


def test_a_member_that_is_killed_loses_its_partitions(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(4), fresh()
    survivor = member(group, [topic], **{"session.timeout.ms": 3000})
    doomed = subprocess.Popen([sys.executable, "-c", DYING_MEMBER, bootstrap, group, topic], stdout=subprocess.PIPE)
    try:
        until(lambda: len(survivor.owned) == 2, "two share")
        doomed.kill()
        started = time.monotonic()
        until(lambda: len(survivor.owned) == 4, "the survivor owns all")
        assert time.monotonic() - started > 0.5  # by session time-out, not by a closed connection
    finally:
        doomed.kill()
        doomed.wait()
        assert doomed.stdout is not None
        doomed.stdout.close()


def test_a_member_leaves_at_once_although_it_waits_for_the_others(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh
) -> None:
    """Its LeaveGroup travels behind its own JoinGroup, which is answered when everybody has joined again."""
    topic, group = make_topic(4), fresh()
    config = {"bootstrap.servers": bootstrap, "group.id": group, "partition.assignment.strategy": "range"}
    busy, visitor = Consumer(config), Consumer(config)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups

    def state() -> str:
        return str(described([group])[group].result(30).state.name)

    def members() -> int:
        return len(described([group])[group].result(30).members)

    busy.subscribe([topic])
    until(lambda: busy.poll(0.05) is None and len(busy.assignment()) == 4, "it owns everything")
    visitor.subscribe([topic])
    until(lambda: visitor.poll(0.05) is None and state() == "PREPARING_REBALANCING", "it waits for the first")
    assert members() == 2
    visitor.close()
    assert members() == 1, "librdkafka did not give up before the answer, which it does after five seconds"
    until(lambda: busy.poll(0.05) is None and state() == "STABLE", "the first goes on alone")
    busy.close()


def test_a_group_follows_a_pattern_and_new_partitions(
    bootstrap: str,
    admin: AdminClient,
    make_topic: MakeTopic,
    fresh: Fresh,
    member: MakeMember,
) -> None:
    topic, group = make_topic(1), fresh()
    only = member(group, [f"^{topic[:-8]}.*"])
    until(lambda: only.owned == {(topic, 0)}, "the first topic")
    another = make_topic(2)
    until(lambda: only.owned == {(topic, 0), (another, 0), (another, 1)}, "a topic that appeared")
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(20)
    until(lambda: len(only.owned) == 5, "partitions that appeared")


def test_offsets_commit_fetch_and_resume(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(2), fresh()
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(20):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(20) == 0
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(config)
    consumer.subscribe([topic])
    seen: list[Any] = []
    until(lambda: (seen.extend(consumer.consume(20, 0.1)), len(seen) == 20)[1], "all twenty")
    stored = TopicPartition(topic, 0, 4, metadata="bookmark")
    consumer.commit(offsets=[stored], asynchronous=False)
    found = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=30)
    assert [(p.offset, p.metadata) for p in found] == [(4, "bookmark"), (-1001, None)]
    consumer.close()

    consumer = Consumer(config)
    consumer.subscribe([topic])
    again: list[Any] = []
    until(lambda: (again.extend(consumer.consume(20, 0.1)), len(again) == 16)[1], "the rest of 0 and all of 1")
    assert sorted((m.partition(), m.offset()) for m in again) == [(0, o) for o in range(4, 10)] + [
        (1, o) for o in range(10)
    ]
    consumer.close()


def test_automatic_commits_are_there_after_a_close(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(1), fresh()
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen: list[Any] = []
    until(lambda: (seen.extend(consumer.consume(10, 0.1)), len(seen) == 10)[1], "all ten")
    consumer.close()
    other = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    assert other.committed([TopicPartition(topic, 0)], timeout=30)[0].offset == 10
    other.close()


def test_a_member_outside_the_generation_cannot_commit(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, member: MakeMember
) -> None:
    topic, group = make_topic(1), fresh()
    inside = member(group, [topic])
    until(lambda: inside.owned == {(topic, 0)}, "an active member")
    outsider = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    with pytest.raises(KafkaException) as failed:
        outsider.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    assert failed.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    outsider.close()


def test_many_members_settle(make_topic: MakeTopic, fresh: Fresh, member: MakeMember) -> None:
    topic, group = make_topic(24), fresh()
    everyone = [member(group, [topic], **{"partition.assignment.strategy": "cooperative-sticky"}) for _ in range(8)]
    places = {(topic, partition) for partition in range(24)}
    until(settled(everyone, places), "eight members with three each")
    for one in everyone[4:]:
        one.stopping.set()
    for one in everyone[4:]:
        one.leave()
    until(settled(everyone[:4], places), "four members with six each")
