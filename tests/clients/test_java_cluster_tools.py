"""Apache Kafka's own tools for clusters, on a cluster of ours: partitions are moved and leaders elected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tapelog.testing import Cluster
from tests.clients.cluster_clients import QUIET, leader
from tests.clients.programs import KafkaTools
from tests.support.waiting import until

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"


def test_kafkas_tools_reassign_partitions_and_elect_leaders(
    cluster: Cluster, kafka_tools: KafkaTools, replicated: str, tmp_path: Path
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})

    def replicas() -> list[int]:
        return list(admin.list_topics(replicated, timeout=30).topics[replicated].partitions[0].replicas)

    wanted = [leader(cluster, replicated) % 3 + 1, leader(cluster, replicated)]
    plan = tmp_path / "plan.json"
    partitions = [{"topic": replicated, "partition": 0, "replicas": wanted}]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    asked = ["--reassignment-json-file", str(plan)]
    assert "Successfully started" in kafka_tools(
        REASSIGN, cluster.bootstrap, *asked, "--execute", "--throttle", "100000000"
    )
    until(lambda: replicas() == wanted, "the partition moved")
    until(lambda: "is completed" in kafka_tools(REASSIGN, cluster.bootstrap, *asked, "--verify"), "completed")
    where = ["--topic", replicated, "--partition", "0", "--election-type", "preferred"]
    kafka_tools(ELECT, cluster.bootstrap, *where)
    until(lambda: leader(cluster, replicated) == wanted[0], "the first replica leads")
