"""A group whose offsets are in somebody's open transaction: rebalances meanwhile do not make it begin anew."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tapelog.toolkit import Loop, Record, Send, exactly_once
from tests.support.waiting import until
from tests.toolkit.cluster import Cluster

PARTITIONS = 3
REBALANCES = 2
QUICK = {"heartbeat.interval.ms": 100, "session.timeout.ms": 6000}
PROTOCOLS: list[dict[str, Any]] = [
    {"partition.assignment.strategy": "range", **QUICK},
    {"partition.assignment.strategy": "cooperative-sticky", **QUICK},
    {"group.protocol": "consumer"},
]


@pytest.mark.parametrize("settings", PROTOCOLS, ids=["range", "cooperative", "consumer"])
def test_offsets_in_an_open_transaction_are_waited_for_through_rebalances(
    cluster: Cluster, settings: dict[str, Any]
) -> None:
    source, out, group = cluster.filled(range(90), PARTITIONS), cluster.topic(), cluster.fresh()
    places = [TopicPartition(source, number) for number in range(PARTITIONS)]
    before = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    before.commit(offsets=[TopicPartition(source, p.partition, 10) for p in places], asynchronous=False)
    other = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": cluster.fresh()})
    other.init_transactions(20)
    other.begin_transaction()
    who: Any = before.consumer_group_metadata()
    other.send_offsets_to_transaction([TopicPartition(source, p.partition, 20) for p in places], who, 20)
    handled: list[tuple[int, int]] = []

    def handle(record: Record) -> Send:
        handled.append((record.partition, record.offset))
        return Send(out, record.value)

    def member() -> Loop:
        return exactly_once(cluster.bootstrap, group=group, topics=source, handle=handle, consumer=settings)

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})

    def members() -> list[int]:
        """How many partitions each member of a group at rest has."""
        try:
            found = admin.describe_consumer_groups([group])[group].result(10)
        except KafkaException:
            return []
        return [len(m.assignment.topic_partitions) for m in found.members] if found.state.name == "STABLE" else []

    with member():
        for _ in range(REBALANCES):
            until(lambda: members() == [PARTITIONS], "one has everything")
            with member():
                until(lambda: sorted(members()) == [1, 2], "two share")
        until(lambda: members() == [PARTITIONS], "one has everything")
        assert handled == []
        other.commit_transaction(20)
        until(lambda: len(set(handled)) == PARTITIONS * 10, "the rest is worked on")
    assert sorted(handled) == [(partition, offset) for partition in range(PARTITIONS) for offset in range(20, 30)]
    before.close()
