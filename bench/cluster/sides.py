"""Clusters under comparison: Tapelog's and Apache Kafka's, every node a process of its own on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench import admin, procs
from bench.sides import REPOSITORY, Missing, find_java, find_kafka

START_TIMEOUT_S = 90.0
COMMON = {
    "log.segment.delete.delay.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "1",
}
"""Both sides are told these."""


class Cluster:
    """Nodes that can be started, measured, hurt and stopped."""

    name = ""

    def __init__(self, folder: Path, nodes: int, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.count = nodes
        self.ports: list[int] = []
        self.settings = {
            **COMMON,
            "offsets.topic.replication.factor": str(min(3, nodes)),
            "transaction.state.log.replication.factor": str(min(3, nodes)),
            "transaction.state.log.min.isr": str(min(2, nodes)),
            **(settings or {}),
        }
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        """All nodes, for clients."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def pids(self) -> list[int]:
        """Of the nodes that live, in order."""
        raise NotImplementedError

    def start(self) -> float:
        """Start all nodes; seconds until every one of them names all of them."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop every node."""
        raise NotImplementedError

    def pid_of(self, number: int) -> int:
        """Of node `number`, from 1."""
        raise NotImplementedError

    def kill(self, number: int) -> None:
        """End a node at once, and wait until it is gone."""
        pid = self.pid_of(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while _lives(pid):
            time.sleep(0.001)

    def revive(self, number: int) -> None:
        """Start a node again that was killed, without waiting."""
        raise NotImplementedError

    def cpu_s(self) -> float:
        """CPU seconds that the nodes have used so far."""
        return sum(procs.cpu_s(pid) for pid in self.pids)

    def memory_mb(self) -> float:
        """Memory of all nodes."""
        return sum(procs.memory_mb(pid) for pid in self.pids)

    def wipe(self) -> None:
        """Remove everything; nothing may be running."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self, begin: float) -> float:
        for port in self.ports:
            while True:
                try:
                    with admin.Admin(port, 2.0) as asked:
                        if asked.brokers() >= self.count:
                            break
                except OSError:
                    pass
                if time.monotonic() - begin > START_TIMEOUT_S:
                    raise Missing(f"{self.name}: the node on port {port} does not see {self.count} brokers")
                time.sleep(0.01)
        return time.monotonic() - begin


class TapelogCluster(Cluster):
    """`tape up --nodes N` of this repository."""

    name = "tapelog"

    def __init__(self, folder: Path, nodes: int, settings: dict[str, str] | None = None, *, fsync: bool) -> None:
        super().__init__(folder, nodes, settings)
        if not fsync:
            self.settings["tapelog.flush"] = "page-cache"
        self._process: subprocess.Popen[bytes] | None = None
        self._revived: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> float:
        """See Cluster; includes formatting, which `tape up` does itself."""
        port = _free_range(self.count)
        self.ports = [port + index for index in range(self.count)]
        words = ["up", "--bare", "--nodes", str(self.count), "--listen", f"127.0.0.1:{port}"]
        words += ["--data", str(self.folder / "data")]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        begin = time.monotonic()
        self._process = self._tape(words, "server.log")
        return self._wait(begin)

    def _tape(self, words: list[str], log: str) -> subprocess.Popen[bytes]:
        environment = {"PYTHONPATH": str(REPOSITORY / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        return procs.spawn([sys.executable, "-m", "tapelog", *words], self.folder / log, None, environment)

    def pid_of(self, number: int) -> int:
        """From its pid file."""
        return int((self.folder / "data" / f"node-{number}" / "pid").read_text())

    def revive(self, number: int) -> None:
        """By `tape node`: the supervisor restarts nobody."""
        if number in self._revived:
            self._revived[number].wait()
        self._revived[number] = self._tape(["node", str(self.folder / "data" / f"node-{number}")], f"node-{number}.log")

    @property
    def pids(self) -> list[int]:
        """From the pid files that `tape up` keeps."""
        found = []
        for index in range(1, self.count + 1):
            with contextlib.suppress(OSError, ValueError):
                found.append(int((self.folder / "data" / f"node-{index}" / "pid").read_text()))
        return found

    def stop(self) -> None:
        """The supervisor stops its nodes."""
        for revived in self._revived.values():
            procs.stop(revived)
        if self._process is not None:
            procs.stop(self._process)
            self._process = None


class KafkaCluster(Cluster):
    """Apache Kafka in KRaft combined mode, stock collector flags; the heap is as for one node unless told otherwise."""

    name = "kafka"

    def __init__(
        self,
        folder: Path,
        nodes: int,
        settings: dict[str, str] | None = None,
        *,
        heap: str = "1G",
        voters: int = 3,
        archive: bool = False,
    ) -> None:
        """With archive, Java keeps the classes that a first start loads: every other start costs half the CPU."""
        super().__init__(folder, nodes, settings)
        self.archive = folder / "classes.jsa" if archive else None
        self.jars, self.java = find_kafka(), find_java()
        self.heap = heap
        self.voters = min(voters, nodes)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._controllers: list[int] = []

    def start(self) -> float:
        """See Cluster; formatting does not count."""
        if not self.ports:
            self.ports = [procs.free_port() for _ in range(self.count)]
            self._controllers = [procs.free_port() for _ in range(self.voters)]
            self._format()
        begin = time.monotonic()
        self._processes = [self._spawn(index) for index in range(self.count)]
        took = self._wait(begin)
        if self.archive is not None and not self.archive.exists():
            procs.stop(self._processes[0])  # Java writes the archive when it ends in good order
            self.revive(1)
            self._wait(time.monotonic())
        return took

    def _format(self) -> None:
        tool = [self.java, "-cp", str(self.jars / "*"), "kafka.tools.StorageTool"]
        made = subprocess.run([*tool, "random-uuid"], capture_output=True, text=True, check=True)
        cluster_id = made.stdout.split()[-1]
        for index in range(self.count):
            folder = self.folder / f"node-{index + 1}"
            folder.mkdir(parents=True, exist_ok=True)
            properties = folder / "server.properties"
            properties.write_text("".join(f"{name}={value}\n" for name, value in self._lines(index).items()))
            with open(folder / "format.log", "wb") as log:
                command = [*tool, "format", "-t", cluster_id, "-c", str(properties)]
                subprocess.run(command, stdout=log, stderr=log, check=True)

    def _lines(self, index: int) -> dict[str, str]:
        votes = index < self.voters
        listeners = [f"PLAINTEXT://127.0.0.1:{self.ports[index]}"]
        if votes:
            listeners.append(f"CONTROLLER://127.0.0.1:{self._controllers[index]}")
        voters = [f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(self._controllers)]
        return {
            "process.roles": "broker,controller" if votes else "broker",
            "node.id": str(index + 1),
            "listeners": ",".join(listeners),
            "advertised.listeners": listeners[0],
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.voters": ",".join(voters),
            "log.dirs": str(self.folder / f"node-{index + 1}" / "data"),
            "share.coordinator.state.topic.replication.factor": str(min(3, self.count)),
            "share.coordinator.state.topic.min.isr": "1",
            **self.settings,
        }

    def _spawn(self, index: int) -> subprocess.Popen[bytes]:
        folder = self.folder / f"node-{index + 1}"
        collector = "-XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
        command = [
            self.java,
            *(f"-Xms{self.heap}", f"-Xmx{self.heap}", "-server", *collector.split()),
            *("-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *self._archived(index),
            *("-cp", str(self.jars / "*"), "kafka.Kafka", str(folder / "server.properties")),
        ]
        return procs.spawn(command, folder / "server.log", None)

    def _archived(self, index: int) -> list[str]:
        if self.archive is None:
            return []
        if self.archive.exists():
            return [f"-XX:SharedArchiveFile={self.archive}", "-Xshare:auto"]
        return [f"-XX:ArchiveClassesAtExit={self.archive}"] if index == 0 else []

    def pid_of(self, number: int) -> int:
        """Of its process."""
        return self._processes[number - 1].pid

    def revive(self, number: int) -> None:
        """As it was started."""
        self._processes[number - 1].wait()
        self._processes[number - 1] = self._spawn(number - 1)

    @property
    def pids(self) -> list[int]:
        """Of the processes that live."""
        return [process.pid for process in self._processes if process.poll() is None]

    def stop(self) -> None:
        """Stop them together: one after the other would move leaders about."""
        for process in self._processes:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGTERM)
        for process in self._processes:
            procs.stop(process)
        self._processes = []


def _lives(pid: int) -> bool:
    """The process is there, and not only waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _free_range(count: int) -> int:
    """A port that is free together with those behind it."""
    import socket

    for _ in range(100):
        first = procs.free_port()
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except (OSError, OverflowError):
                continue
        return first
    raise Missing("no range of free ports was found")
