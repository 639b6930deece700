"""Metadata that cannot be taken: the node ends, whoever's request it was in which it found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog.base.node_config import Listener, NodeConfig
from tapelog.metadata.fault import MetadataFault
from tapelog.node import main
from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import CLUSTER_ID, Machine
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest


def formed() -> tuple[Cluster, Machine, Machine]:
    """Three machines; the active controller and a follower of it."""
    cluster = Cluster(1, 3)
    cluster.boot()
    active = next(machine for machine in cluster.machines if machine.core is not None and machine.core.metadata.active)
    return cluster, active, next(machine for machine in cluster.machines if machine is not active)


def create_topic(machine: Machine) -> None:
    core = machine.core
    assert core is not None
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=3)])

    core.change_metadata(lambda image: core.controller.create_topics(image, request), lambda _: None)
    machine.settle()


def cannot(*_: object) -> None:
    """In the place of something that must not fail."""
    raise RuntimeError("a defect")


@pytest.mark.parametrize("where", ["leader", "follower"])
def test_a_node_that_cannot_follow_what_was_committed_ends(where: str) -> None:
    cluster, active, follower = formed()
    broken = active if where == "leader" else follower
    assert broken.core is not None
    broken.core.metadata.log.publish = cannot
    create_topic(active)
    with pytest.raises(MetadataFault, match="cannot be followed: RuntimeError: a defect"):
        cluster.world.run_until(lambda: False, 5_000)  # the leader hears of the commit in a Fetch


def test_a_node_that_cannot_replay_what_was_committed_ends() -> None:
    cluster, active, follower = formed()
    assert follower.core is not None
    follower.core.metadata.log._replay_batch = cannot  # type: ignore[method-assign, assignment]
    create_topic(active)
    with pytest.raises(MetadataFault, match="cannot be replayed: RuntimeError: a defect"):
        cluster.world.run_until(lambda: False, 5_000)


def test_a_process_with_such_a_fault_ends_with_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> int:
        raise MetadataFault("the metadata before offset 7 cannot be followed")

    monkeypatch.setattr(main, "_run", faulty)
    monkeypatch.setattr(main, "_configure_logging", lambda config: None)  # this process has other tests to run
    config = NodeConfig(
        node_id=1,
        cluster_id=CLUSTER_ID,
        listeners=[Listener("PLAINTEXT", "127.0.0.1", 0)],
        controller_listener=Listener("CONTROLLER", "127.0.0.1", 0),
        log_dirs=[str(tmp_path)],
    )
    assert main.run(config, on_ready=lambda _: None) == 1
