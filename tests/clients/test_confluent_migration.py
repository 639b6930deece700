"""confluent-kafka members of both protocols in one group at the same time: rolling upgrades and downgrades.

A ledger, kept by the members' own callbacks, sees that no partition is ever assigned to one before another gave it
back. Members commit what they have read as they give a partition back, so every record is read once: no gap, no
duplicate. (Apache Kafka 4.3.1 passes all but the rolling upgrade and downgrade: it takes librdkafka's
cooperative-sticky for a custom assignor, and members that are behind when a group turns classic lose what they own.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients.test_confluent_groups import Feed
from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import until

PARTITIONS = 6
CLASSIC = {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 200}
STRATEGIES = ["cooperative-sticky", "range"]

Place = tuple[str, int]


class Ledger:
    """Who owns what, by what the members were told; and what was read, in the order of reading."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owners: dict[Place, str] = {}
        self.wrongs: list[str] = []
        self.read: dict[Place, list[int]] = {}
        self.events: list[str] = []

    def assigned(self, name: str, places: list[Place]) -> None:
        with self.lock:
            for place in places:
                owner = self.owners.get(place)
                if owner not in (None, name):
                    self.wrongs.append(f"{place} went to {name} while {owner} had it")
                self.owners[place] = name
            self.events.append(f"{name} got {[p for _, p in places]}")

    def given_back(self, name: str, places: list[Place]) -> None:
        with self.lock:
            for place in places:
                if self.owners.get(place) == name:
                    del self.owners[place]
            self.events.append(f"{name} gave {[p for _, p in places]}")

    def note(self, place: Place, offset: int) -> None:
        with self.lock:
            self.read.setdefault(place, []).append(offset)

    def shares(self) -> dict[str, int]:
        with self.lock:
            counts: dict[str, int] = {}
            for owner in self.owners.values():
                counts[owner] = counts.get(owner, 0) + 1
            return counts


class Member(threading.Thread):
    """A member that reads, and commits as it gives partitions back."""

    def __init__(
        self, ledger: Ledger, bootstrap: str, group: str, topic: str, name: str, config: dict[str, Any]
    ) -> None:
        super().__init__(daemon=True, name=name)
        self.ledger = ledger
        self.fatal = ""
        self.lost: list[Place] = []
        self.stopping = threading.Event()
        times = {} if config.get("group.protocol") == "consumer" else CLASSIC
        common = {"bootstrap.servers": bootstrap, "group.id": group, "client.id": name}
        reading = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = Consumer({**common, **reading, **times, **config})
        self.consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        self.start()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.ledger.assigned(self.name, [(p.topic, p.partition) for p in partitions])

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        read = [p for p in consumer.position(partitions) if p.offset >= 0]
        if read:
            try:
                consumer.commit(offsets=read, asynchronous=False)
            except KafkaException as error:
                self.ledger.events.append(f"{self.name} could not commit: {error}")
        self.ledger.given_back(self.name, [(p.topic, p.partition) for p in partitions])

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        places = [(p.topic, p.partition) for p in partitions]
        self.lost += places
        self.ledger.events.append(f"{self.name} lost {[p.partition for p in partitions]}")
        self.ledger.given_back(self.name, places)

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                for message in self.consumer.consume(100, 0.05):
                    error = message.error()
                    if error is None:
                        self.ledger.note((message.topic() or "", message.partition() or 0), message.offset() or 0)
                    elif error.code() == KafkaError._FATAL:
                        self.fatal = str(error)
            self.consumer.close()
        except KafkaException as error:
            self.fatal = str(error)

    def leave(self) -> None:
        """Close cleanly: the group is told."""
        self.stopping.set()
        self.join(60)
        assert not self.is_alive()


class Fleet:
    """The members of one group on one topic that is being written to."""

    def __init__(self, bootstrap: str, admin: AdminClient, group: str, topic: str) -> None:
        self.ledger = Ledger()
        self.members: list[Member] = []
        self.bootstrap, self.admin, self.group, self.topic = bootstrap, admin, group, topic
        self.feed = Feed(bootstrap, topic, PARTITIONS)
        self._count = 0

    def add(self, protocol: str, strategy: str = "cooperative-sticky", instance: str | None = None) -> Member:
        """One more member."""
        self._count += 1
        config: dict[str, Any] = {"group.protocol": protocol}
        if protocol == "classic":
            config["partition.assignment.strategy"] = strategy
        if instance is not None:
            config["group.instance.id"] = instance
        name = f"{protocol}-{self._count}"
        self.members.append(Member(self.ledger, self.bootstrap, self.group, self.topic, name, config))
        return self.members[-1]

    def remove(self, member: Member) -> None:
        """One member less."""
        self.members.remove(member)
        member.leave()

    def settle(self, *, balanced: bool = True) -> None:
        """Wait until everything is owned, in equal shares."""

        def check() -> bool:
            assert not [member.fatal for member in self.members if member.fatal]
            shares = [self.ledger.shares().get(member.name, 0) for member in self.members]
            return sum(shares) == PARTITIONS and (not balanced or max(shares) - min(shares) <= 1)

        try:
            until(check, "every partition is owned")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.ledger.shares()}") from error
        assert self.ledger.wrongs == []

    def kind(self) -> ConsumerGroupType:
        """What the broker says the group is."""
        described = self.admin.describe_consumer_groups([self.group], request_timeout=10)[self.group].result()
        return described.type  # type: ignore[no-any-return]

    def finish(self) -> None:
        """Every record was read, once and in order, by whoever owned its partition."""
        self.feed.finish()
        probe = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "probe"})
        ends = {p: probe.get_watermark_offsets(TopicPartition(self.topic, p), 10)[1] for p in range(PARTITIONS)}
        probe.close()

        def read_all() -> bool:
            with self.ledger.lock:
                return all(max(self.ledger.read.get((self.topic, p), [-1])) + 1 >= end for p, end in ends.items())

        until(read_all, "all records are read")
        for member in list(self.members):
            self.remove(member)
        assert self.ledger.wrongs == []
        for p, end in ends.items():
            assert self.ledger.read[self.topic, p] == list(range(end)), "\n".join(self.ledger.events)


MakeFleet = Callable[[], Fleet]


@pytest.fixture
def fleet(bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh) -> Iterator[Fleet]:
    made = Fleet(bootstrap, admin, fresh(), make_topic(PARTITIONS))
    yield made
    made.feed.stopping.set()
    for member in made.members:
        member.stopping.set()
    for member in made.members:
        member.join(30)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_of_both_protocols_share_a_group(fleet: Fleet, strategy: str) -> None:
    for protocol in ("classic", "consumer", "classic", "consumer"):
        fleet.add(protocol, strategy)
    fleet.settle()
    assert fleet.kind() == ConsumerGroupType.CONSUMER
    for member in fleet.members[:2]:
        fleet.remove(member)
    fleet.settle()
    fleet.finish()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rolling_upgrade_and_a_rolling_downgrade_leave_no_gap(fleet: Fleet, strategy: str) -> None:
    for _ in range(3):
        fleet.add("classic", strategy)
    fleet.settle()
    assert fleet.kind() == ConsumerGroupType.CLASSIC
    for former in list(fleet.members):
        fleet.remove(former)
        fleet.add("consumer")
        fleet.settle()
        assert fleet.kind() == ConsumerGroupType.CONSUMER
    for former in list(fleet.members):
        fleet.remove(former)
        fleet.add("classic", strategy)
        # The clients' own assignors balance less than ours: range looks at each topic, sticky at what it was told.
        fleet.settle(balanced=False)
    assert fleet.kind() == ConsumerGroupType.CLASSIC
    fleet.finish()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rolling_change_without_pauses_leaves_no_gap_either(fleet: Fleet, strategy: str) -> None:
    """New members first, and nobody waits for the group to settle."""
    for _ in range(2):
        fleet.add("classic", strategy)
    fleet.settle()
    for protocol in ("consumer", "classic", "consumer"):
        for former in list(fleet.members):
            fleet.add(protocol, strategy)
            fleet.remove(former)
    fleet.settle()
    assert fleet.kind() == ConsumerGroupType.CONSUMER
    fleet.finish()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_static_members_change_their_protocol_and_keep_their_place(fleet: Fleet, strategy: str) -> None:
    first = fleet.add("classic", strategy, "one")
    second = fleet.add("classic", strategy, "two")
    fleet.settle()
    kept = {place for place, owner in fleet.ledger.owners.items() if owner == first.name}
    fleet.remove(first)
    upgraded = fleet.add("consumer", instance="one")
    fleet.settle()
    assert {place for place, owner in fleet.ledger.owners.items() if owner == upgraded.name} == kept
    fleet.remove(second)
    fleet.add("consumer", instance="two")
    fleet.settle()
    fleet.remove(upgraded)
    fleet.add("classic", strategy, "one")
    fleet.settle()
    assert fleet.kind() == ConsumerGroupType.CONSUMER
    fleet.finish()
