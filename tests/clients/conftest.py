"""Fixtures of the client tests: one broker for the session, fresh topics and groups for every test.

TAPELOG_TEST_BOOTSTRAP=host:port runs the same tests against an existing cluster (Apache Kafka, say, which is how each test was
shown to be right). Such a cluster needs the settings in SETTINGS.
"""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.waiting import until

SETTINGS = {
    "message.max.bytes": "12000000",
    "group.min.session.timeout.ms": "500",
    "log.retention.check.interval.ms": "1000",
}

MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the cluster under test."""
    existing = os.environ.get("TAPELOG_TEST_BOOTSTRAP")
    if existing:
        yield existing
        return
    from tapelog.testing import Broker

    with Broker(settings=SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    """An admin client for setting the stage."""
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Names that nothing else uses, for topics and groups."""
    stem = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:60].strip("-")
    return lambda: f"{stem}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def make_topic(admin: AdminClient, fresh: Callable[[], str]) -> MakeTopic:
    """make_topic(partitions=1, **configs): create a topic (dots in config names written as underscores) and wait until it serves."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = fresh()
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(20)
        wait_for_topic(admin, topic, partitions)
        return topic

    return make


def wait_for_topic(admin: AdminClient, topic: str, partitions: int) -> None:
    """Until every partition of the topic has a leader in Metadata."""

    def online() -> bool:
        known = admin.list_topics(topic, timeout=10).topics[topic]
        return known.error is None and len(known.partitions) == partitions and all(p.leader >= 0 for p in known.partitions.values())

    until(online, f"{topic} online")


def require(tool: str, group: str) -> str:
    """The path of a program, or skip naming it — or fail, where TAPELOG_REQUIRE lists the group it belongs to (java, go, node …)."""
    path = shutil.which(tool)
    if path is not None:
        return path
    if group in os.environ.get("TAPELOG_REQUIRE", "").split(","):
        pytest.fail(f"{tool} is not installed, and TAPELOG_REQUIRE names {group}")
    pytest.skip(f"{tool} is not installed")
