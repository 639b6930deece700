"""Apache Kafka's kafka-metadata-quorum on a cluster of ours: it sees a healthy quorum, moves a voter out and in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog.base.node_config import NodeConfig
from tapelog.testing import Cluster
from tests.clients.programs import KafkaTools
from tests.support.waiting import until

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow]

TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


def test_kafkas_tool_describes_removes_and_adds_controllers(
    cluster: Cluster, kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    def tool(*arguments: str) -> str:
        return kafka_tools(TOOL, cluster.node(1).bootstrap, *arguments)

    def replicas() -> list[list[str]]:
        lines = [line.split() for line in tool("describe", "--replication").splitlines()[1:]]
        return [line for line in lines if line]

    def voters() -> dict[str, str]:
        """What each node is; one that got a new disk may still be listed as an observer with its old one."""
        lines = sorted(replicas(), key=lambda line: line[-1] != "Observer")
        return {line[0]: line[-1] for line in lines}

    until(lambda: sorted(voters().values()) == ["Follower", "Follower", "Leader"], "three voters")
    last = max((id for id, status in voters().items() if status == "Follower"), key=int)
    home = cluster.data_dir / f"node-{last}"
    config = NodeConfig.from_toml((home / "node.toml").read_text())
    directory = next(line[1] for line in replicas() if line[0] == last and line[-1] != "Observer")
    out = tool("remove-controller", "--controller-id", last, f"--controller-directory-id={directory}")
    assert f"controller {last}" in out
    until(lambda: voters().get(last) == "Observer", "it only observes")
    asked = tmp_path / "controller.properties"
    asked.write_text(
        f"process.roles=controller\nnode.id={last}\nlog.dirs={home / config.log_dirs[0]}\n"
        f"controller.listener.names=CONTROLLER\nlisteners={config.controller_listener}\n"
        f"controller.quorum.bootstrap.servers={str(config.controller_listener).partition('://')[2]}\n"
    )
    assert "Added controller" in tool("--command-config", str(asked), "add-controller")
    until(lambda: voters().get(last) == "Follower", "it votes again")
