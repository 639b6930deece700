"""Apache Kafka's own tools on a cluster of ours: kafka-reassign-partitions, kafka-leader-election, kafka-features."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tapelog.testing import Cluster
from tests.clients.cluster_clients import QUIET, leader
from tests.clients.programs import KafkaTools
from tests.support.waiting import until

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow, pytest.mark.timeout(600)]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"


def test_replicas_move_throttled_and_preferred_leaders_are_elected(
    cluster: Cluster, kafka_tools: KafkaTools, replicated: str, tmp_path: Path
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})

    def replicas() -> list[int]:
        return list(admin.list_topics(replicated, timeout=30).topics[replicated].partitions[0].replicas)

    wanted = tmp_path / "moves.json"

    def move(target: list[int]) -> None:
        part = {"topic": replicated, "partition": 0, "replicas": target}
        wanted.write_text(json.dumps({"version": 1, "partitions": [part]}))
        asked = ("--reassignment-json-file", str(wanted))
        out = kafka_tools(REASSIGN, cluster.bootstrap, *asked, "--execute", "--throttle", "50000000")
        assert "Successfully started" in out
        until(lambda: replicas() == target, f"moved to {target}")
        verify = (REASSIGN, cluster.bootstrap, *asked, "--verify")  # while it is added, a replica is named already
        until(lambda: "is completed" in kafka_tools(*verify), "completed")

    first, second, third = replicas()
    move([first, second])
    move([third, first, second])
    until(
        lambda: len(admin.list_topics(replicated, timeout=30).topics[replicated].partitions[0].isrs) == 3,
        "all in sync",
    )
    if leader(cluster, replicated) != third:
        asked = ("--election-type", "preferred", "--topic", replicated, "--partition", "0")
        assert "Successfully completed" in kafka_tools(ELECT, cluster.bootstrap, *asked)
    until(lambda: leader(cluster, replicated) == third, "the preferred replica leads")


def test_features_of_the_cluster_are_told(cluster: Cluster, kafka_tools: KafkaTools) -> None:
    told = kafka_tools(FEATURES, cluster.bootstrap, "describe")
    lines = {line.split()[1]: line for line in told.splitlines() if line.startswith("Feature:")}
    assert "FinalizedVersionLevel: 1" in lines["eligible.leader.replicas.version"]
    assert "FinalizedVersionLevel: 2" in lines["transaction.version"]
