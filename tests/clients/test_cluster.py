"""Clients of a cluster while its nodes die, come back and are restarted one by one: nothing lost, nothing twice.

One cluster of three nodes for all tests (conftest.py); each leaves it whole.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tapelog.testing import Cluster
from tests.clients.cluster_clients import (
    QUIET,
    GroupReader,
    LibrdkafkaWriter,
    everything,
    exactly_once,
    leader,
    transact,
    whole,
    writer,
)
from tests.clients.programs import prepare
from tests.support.names import Fresh
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "kind",
    [
        "librdkafka",
        pytest.param("java", marks=pytest.mark.needs("java")),
        pytest.param("franz-go", marks=pytest.mark.needs("go")),
    ],
)
def test_a_writer_survives_the_death_of_a_leader_and_its_return(cluster: Cluster, replicated: str, kind: str) -> None:
    if kind != "librdkafka":
        prepare("go" if kind == "franz-go" else kind)
    writing = writer(kind, cluster.bootstrap, replicated)
    until(lambda: len(writing.acked) > 100, "the writer under way")
    victim = cluster.node(leader(cluster, replicated))
    victim.kill()
    before = len(writing.acked)
    until(lambda: len(writing.acked) > before + 300, "acknowledged again")
    victim.start()
    before = len(writing.acked)
    until(lambda: len(writing.acked) > before + 100, "and with the node back")
    writing.finish()
    assert not writing.failed, writing.failed[:3]
    whole(cluster, replicated)
    exactly_once(everything(cluster.bootstrap, replicated), writing.acked)


def test_a_rolling_restart_is_not_noticed_by_writers_and_readers(
    cluster: Cluster, replicated: str, fresh: Fresh
) -> None:
    writing = LibrdkafkaWriter(cluster.bootstrap, replicated)
    reading = GroupReader(cluster.bootstrap, replicated, fresh())
    for node in cluster.nodes:
        until(lambda: len(writing.acked) > 100 and reading.got, "both under way")
        node.stop()
        enough = len(writing.acked) + 100
        until(lambda n=enough: len(writing.acked) > n, "the others lead: no record waits for the node")  # type: ignore[misc]
        node.start()
        whole(cluster, replicated)
    writing.finish()
    until(lambda: len(reading.got) >= len(writing.acked), "everything read")
    reading.finish()
    assert not writing.failed and not reading.errors, (writing.failed[:3], reading.errors[:3])
    assert set(reading.got) == {str(number).encode() for number in writing.acked}
    exactly_once(everything(cluster.bootstrap, replicated), writing.acked)


def test_transactions_and_a_group_survive_the_death_of_their_coordinators(
    cluster: Cluster, replicated: str, fresh: Fresh
) -> None:
    reading = GroupReader(cluster.bootstrap, replicated, fresh())
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": fresh(), "transaction.timeout.ms": 20000, **QUIET}
    )
    producer.init_transactions(30)
    committed: list[bytes] = []
    dead = 0
    for number in range(30):
        if number in (8, 16):  # whoever coordinates or leads: two of three nodes have died in the end
            dead += 1
            cluster.node(dead).kill()
        if number in (12, 20):
            cluster.node(dead).start()
        values = [f"{number}-{part}".encode() for part in range(3)]
        if transact(producer, replicated, values, abort=number % 5 == 4):
            committed += values
    assert len(committed) == 24 * 3
    until(lambda: len(reading.got) >= len(committed), "all that was committed read by the group")
    reading.finish()
    assert not reading.errors, reading.errors[:3]
    found = everything(cluster.bootstrap, replicated, "read_committed")
    assert sorted(value for values in found.values() for value in values) == sorted(committed)
    assert set(reading.got) == set(committed)
