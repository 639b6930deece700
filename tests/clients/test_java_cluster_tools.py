"""Apache Kafka's own tools for clusters, on a cluster of ours: partitions are moved and leaders elected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapelog.testing import Cluster
from tests.clients.cluster_clients import leader, whole
from tests.clients.programs import java, prepare, run
from tests.support.waiting import until

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"


def test_kafkas_tools_reassign_partitions_and_elect_leaders(cluster: Cluster, replicated: str, tmp_path: Path) -> None:
    prepare("java")
    wanted = [leader(cluster, replicated) % 3 + 1, leader(cluster, replicated)]
    plan = tmp_path / "plan.json"
    partitions = [{"topic": replicated, "partition": 0, "replicas": wanted}]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    told = ["--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan)]
    assert "Successfully started" in run(java(REASSIGN, *told, "--execute", "--throttle", "100000000"))
    until(lambda: "is completed" in run(java(REASSIGN, *told, "--verify")), "the partition moved", pause=1)
    where = ["--bootstrap-server", cluster.bootstrap, "--topic", replicated, "--partition", "0"]
    run(java(ELECT, *where, "--election-type", "preferred"))
    until(lambda: leader(cluster, replicated) == wanted[0], "the first replica leads")
    back = [{"topic": replicated, "partition": 0, "replicas": [1, 2, 3]}]
    plan.write_text(json.dumps({"version": 1, "partitions": back}))
    run(java(REASSIGN, *told, "--execute"))
    whole(cluster, replicated)
