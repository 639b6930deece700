"""A cluster behind one address: clients that see a single broker, while nodes behind it die and come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from tapelog.testing import Cluster
from tapelog.testing.process import Process
from tests.clients.cluster_clients import QUIET, GroupReader, everything, exactly_once, leader, transact, whole, writer
from tests.clients.programs import prepare
from tests.support.names import Fresh
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def routed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The router's address."""
    log = Path(tmp_path_factory.mktemp("router")) / "router.log"
    process = Process("the router", log, parent="watch")
    process.spawn(["router", "--listen", "127.0.0.1:0", "--bootstrap", cluster.bootstrap])
    yield process.wait_until_ready()
    process.stop()


def test_clients_see_one_broker_that_leads_everything(routed: str, replicated: str) -> None:
    seen = AdminClient({"bootstrap.servers": routed, **QUIET}).list_topics(replicated, timeout=30)
    assert [f"{one.host}:{one.port}" for one in seen.brokers.values()] == [routed]
    (number,) = seen.brokers
    assert {part.leader for part in seen.topics[replicated].partitions.values()} == {number}


@pytest.mark.parametrize(
    "kind",
    [
        "librdkafka",
        pytest.param("java", marks=pytest.mark.needs("java")),
        pytest.param("franz-go", marks=pytest.mark.needs("go")),
    ],
)
def test_a_writer_behind_the_router_survives_the_death_of_a_leader(
    cluster: Cluster, routed: str, replicated: str, kind: str
) -> None:
    if kind != "librdkafka":
        prepare("go" if kind == "franz-go" else kind)
    writing = writer(kind, routed, replicated)
    until(lambda: len(writing.acked) > 100, "the writer under way")
    victim = cluster.node(leader(cluster, replicated))
    victim.kill()
    before = len(writing.acked)
    until(lambda: len(writing.acked) > before + 300, "acknowledged again")
    victim.start()
    writing.finish()
    assert not writing.failed, writing.failed[:3]
    whole(cluster, replicated)
    exactly_once(everything(routed, replicated), writing.acked)


def test_transactions_and_groups_work_behind_the_router(routed: str, replicated: str, fresh: Fresh) -> None:
    group = fresh()
    reading = GroupReader(routed, replicated, group)
    producer = Producer({"bootstrap.servers": routed, "transactional.id": fresh(), **QUIET})
    producer.init_transactions(30)
    committed: list[bytes] = []
    for number in range(10):
        values = [f"{number}-{part}".encode() for part in range(3)]
        if transact(producer, replicated, values, abort=number % 3 == 2):
            committed += values
    until(lambda: len(reading.got) >= len(committed), "all that was committed read")
    reading.finish()
    assert sorted(reading.got) == sorted(committed)
    admin = AdminClient({"bootstrap.servers": routed, **QUIET})
    listed = admin.list_consumer_groups().result(30).valid
    assert group in [one.group_id for one in listed]
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(replicated, number) for number in range(3)])
    offsets = admin.list_consumer_group_offsets([wanted])[group].result(30).topic_partitions
    assert all(one.offset > 0 for one in offsets or [])


def test_administration_goes_to_who_can_do_it(cluster: Cluster, routed: str, fresh: Fresh) -> None:
    admin = AdminClient({"bootstrap.servers": routed, **QUIET})
    name = fresh()
    admin.create_topics([NewTopic(name, 6, 3)])[name].result(20)
    until(lambda: len(admin.list_topics(name, timeout=30).topics[name].partitions) == 6, "six partitions")
    direct = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})

    def leaders() -> set[int]:
        return {part.leader for part in direct.list_topics(name, timeout=30).topics[name].partitions.values()}

    until(lambda: len(leaders()) == 3, "behind it, leaders differ")
    (number,) = admin.list_topics(name, timeout=30).brokers
    resource = ConfigResource(ResourceType.BROKER, str(number))
    (described,) = admin.describe_configs([resource]).values()
    assert described.result(30)["broker.id"].value == str(number)
    admin.delete_topics([name])[name].result(20)
    with pytest.raises(KafkaException):
        admin.delete_topics([name])[name].result(20)
