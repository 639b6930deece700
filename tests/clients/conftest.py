"""Fixtures of the client tests: one broker for the session, fresh topics and groups for every test.

TAPELOG_TEST_BOOTSTRAP=host:port runs the same tests against an existing cluster (Apache Kafka, say, which is how each
test was shown to be right). Such a cluster needs the settings in SETTINGS.

TAPELOG_TEST_NODES=3 runs them against three nodes instead of one, and topics get three replicas; with
TAPELOG_TEST_BOOTSTRAP it says how many replicas topics get there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.cli.output import reset_consoles
from tests.clients.programs import KafkaTools
from tests.support.names import Fresh, LeaderOf, MakeTopic
from tests.support.nodes import NODES
from tests.support.tape import Tape
from tests.support.waiting import until

if TYPE_CHECKING:
    from tapelog.testing import Cluster

SETTINGS = {
    "message.max.bytes": "12000000",
    "group.min.session.timeout.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
}

CLUSTER_SETTINGS = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "group.min.session.timeout.ms": 500,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
}


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the cluster under test."""
    existing = os.environ.get("TAPELOG_TEST_BOOTSTRAP")
    if existing:
        yield existing
        return
    from tapelog.testing import Broker, Cluster

    alone = NODES == 1
    with Broker(settings=SETTINGS) if alone else Cluster(nodes=NODES, settings=SETTINGS) as running:
        yield running.bootstrap.split(",")[0]  # the programs that some tests start take one address


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three nodes; a test that stops some leaves all of them running."""
    from tapelog.testing import Cluster

    with Cluster(nodes=3, settings=CLUSTER_SETTINGS) as running:
        yield running


@pytest.fixture
def replicated(cluster: Cluster, fresh: Fresh) -> str:
    """A topic of three partitions with three replicas each, all in sync."""
    from tests.clients.cluster_clients import PARTITIONS, whole

    name = fresh()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(20)
    whole(cluster, name)
    return name


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    """An admin client for setting the stage."""
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    """kafka_tools(CLASS, BOOTSTRAP, ARGUMENT…) runs a tool of Kafka's."""
    tools = KafkaTools()
    yield tools
    tools.close()


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Fresh:
    """Names that nothing else uses, for topics and groups."""
    stem = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:60].strip("-")
    return lambda: f"{stem}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def make_topic(admin: AdminClient, fresh: Fresh) -> MakeTopic:
    """Creates a topic (dots in config names written as underscores) and waits until it serves."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = fresh()
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        admin.create_topics([NewTopic(topic, partitions, NODES, config=settings)])[topic].result(20)
        wait_for_topic(admin, topic, partitions)
        return topic

    return make


@pytest.fixture
def leader_of(admin: AdminClient) -> LeaderOf:
    """The address of the node that leads partition 0 of a topic."""

    def find(topic: str) -> str:
        known = admin.list_topics(topic, timeout=30)
        broker = known.brokers[known.topics[topic].partitions[0].leader]
        return f"{broker.host}:{broker.port}"

    return find


@pytest.fixture
def tape(bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Tape]:
    """Runs `tape` commands in this process."""
    monkeypatch.setenv("TAPELOG_BOOTSTRAP", bootstrap)
    yield Tape(capsys, monkeypatch)
    reset_consoles()


@pytest.fixture
def on_cluster(cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Tape]:
    """Runs `tape` commands against the three nodes."""
    monkeypatch.setenv("TAPELOG_BOOTSTRAP", cluster.bootstrap)
    yield Tape(capsys, monkeypatch)
    reset_consoles()


def wait_for_topic(admin: AdminClient, topic: str, partitions: int) -> None:
    """Until every partition of the topic has a leader in Metadata."""

    def online() -> bool:
        known = admin.list_topics(topic, timeout=30).topics[topic]
        return (
            known.error is None
            and len(known.partitions) == partitions
            and all(p.leader >= 0 for p in known.partitions.values())
        )

    until(online, f"{topic} online")
