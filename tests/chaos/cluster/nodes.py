"""Nodes as processes at their places: Tapelog's, or Apache Kafka's for comparison; killed, paused, started again."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tapelog.base.node_config import ROLE_BROKER, ROLE_CONTROLLER, Listener, NodeConfig
from tapelog.cli import cluster_files, node_files
from tapelog.log.checkpoints import uuid_text
from tapelog.testing.process import environment
from tests.chaos.cluster.clocks import NodeClock
from tests.chaos.cluster.disks import Disk
from tests.chaos.cluster.wires import Wires

ROOT: Final = Path(__file__).parents[3]
REPLICATED: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
}
"""Every topic on three nodes, each write on two."""


class Node:
    """One node: its process, and what can go wrong around it."""

    def __init__(
        self, number: int, host: str, port: int, command: list[str], log: Path, disk: Disk, clock: NodeClock
    ) -> None:
        self.number = number
        self.host, self.port = host, port
        self.disk, self.clock = disk, clock
        self.paused = False
        self.more: dict[str, str] = {}
        """What else is in its environment."""
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{self.host}:{self.port}"

    @property
    def running(self) -> bool:
        """It lives, paused or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, if it does not run; without waiting."""
        if self.running:
            return
        self.kill()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment(), "TAPELOG_PARENT": "watch", **self.clock.environment(), **self.more},
                process_group=0,
            )

    def kill(self) -> None:
        """End it at once, paused or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process, self.paused = None, False

    def stop(self, seconds: float = 30.0) -> None:
        """Ask it to end, and wait; one that does not is killed."""
        if self.running:
            self.resume()
            self.signal(signal.SIGTERM)
            assert self._process is not None
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        self.kill()

    def pause(self) -> None:
        """It does nothing any more, and nobody is told."""
        if self.running:
            self.signal(signal.SIGSTOP)
            self.paused = True

    def resume(self) -> None:
        """It goes on as if nothing had been."""
        if self.paused:
            self.signal(signal.SIGCONT)
            self.paused = False

    def signal(self, number: signal.Signals) -> None:
        """To its process."""
        os.kill(self.pid, number)

    def listens(self) -> bool:
        """It takes connections."""
        try:
            with socket.create_connection((self.host, self.port), 0.5):
                return True
        except OSError:
            return False

    def told(self) -> str:
        """The last that it said."""
        return self._log.read_text(errors="replace")[-1500:] if self._log.exists() else ""


def planted(name: str) -> dict[str, str]:
    """The environment of a node with a mistake: interpreted, since compiled classes cannot be changed from outside."""
    place = Path(__file__).parent / "plants" / name
    assert (place / "sitecustomize.py").exists(), name
    paths = os.pathsep.join([str(place), environment()["PYTHONPATH"]])
    return {"PYTHONPATH": paths, "TAPELOG_HOT": "interpreted"}


Places = Callable[[int], tuple[Disk, NodeClock]]


def ports(wires: Wires, nodes: int) -> dict[int, tuple[int, int]]:
    """Client and controller port of each node."""
    if wires.can_cut:
        return dict.fromkeys(range(1, nodes + 1), (9092, 9093))
    free = cluster_files.Ports()
    return {number: (free.free(), free.free()) for number in range(1, nodes + 1)}


def tape_nodes(
    nodes: int, wires: Wires, places: Places, scratch: Path, settings: Mapping[str, str] | None = None
) -> list[Node]:
    """A cluster of ours, formatted and not yet started."""
    chosen = {**REPLICATED, **(settings or {})}
    cluster_id = node_files.new_cluster_id()
    ids = {number: os.urandom(16) for number in range(1, nodes + 1)}
    where = ports(wires, nodes)
    voters = [f"{n}@{wires.host(n)}:{where[n][1]}:{uuid_text(ids[n])}" for n in ids]
    made: list[Node] = []
    for number in ids:
        disk, clock = places(number)
        directory = str(disk.path / f"node-{number}")
        config = NodeConfig(
            node_id=number,
            cluster_id=cluster_id,
            roles=(ROLE_BROKER, ROLE_CONTROLLER),
            listeners=[Listener("PLAINTEXT", wires.host(number), where[number][0])],
            controller_listener=Listener("CONTROLLER", wires.host(number), where[number][1]),
            log_dirs=[os.path.join(directory, node_files.LOG_DIR)],
            voters=voters,
            settings=chosen,
        )
        cluster_files.write([cluster_files.PlannedNode(directory, config, ids[number])])
        command = wires.wrap(number, [sys.executable, "-m", "tapelog", "node", directory])
        log = scratch / f"node-{number}.log"
        made.append(Node(number, wires.host(number), where[number][0], command, log, disk, clock))
    return made


def kafka_nodes(
    nodes: int, wires: Wires, places: Places, scratch: Path, settings: Mapping[str, str] | None = None
) -> list[Node]:
    """A cluster of Apache Kafka's, formatted and not yet started; its jars as tests/clients has them."""
    jars = os.environ.get("TAPELOG_KAFKA_LIB") or str(ROOT / ".tools" / "kafka" / "lib")
    classes = ["-cp", f"{jars}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    chosen = {**REPLICATED, **(settings or {})}
    cluster_id = node_files.new_cluster_id()
    where = ports(wires, nodes)
    voters = ",".join(f"{n}@{wires.host(n)}:{where[n][1]}" for n in where)
    made: list[Node] = []
    for number, (port, controller) in where.items():
        disk, clock = places(number)
        host, directory = wires.host(number), disk.path / f"kafka-{number}"
        directory.mkdir(parents=True)
        listeners = f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}"
        lines = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.voters": voters,
            "log.dirs": str(directory / "logs"),
            "share.coordinator.state.topic.replication.factor": "3",
            **{name: value for name, value in chosen.items() if not name.startswith("tapelog.")},
        }
        config = directory / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        format_it = ["java", "-Xmx128m", *classes, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c"]
        subprocess.run([*format_it, str(config)], check=True, capture_output=True)
        heap = ["-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
        command = wires.wrap(number, ["java", *heap, *classes, "kafka.Kafka", str(config)])
        made.append(Node(number, host, port, command, scratch / f"node-{number}.log", disk, clock))
    return made
