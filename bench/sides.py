"""The two sides under comparison: Tapelog and Apache Kafka, each one node on loopback with its own data folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench import admin, procs

KAFKA_VERSION = "4.3.1"
REPOSITORY = Path(__file__).resolve().parent.parent
DELETE_DELAY_MS = "500"
"""Both sides drop deleted topics at once, so that one run's files are gone before the next."""


class Missing(Exception):
    """A side cannot run here; the message says what to install."""


class Side:
    """A server process that can be started, measured and stopped. `start` returns seconds to its first answer."""

    name = ""
    patience_s = 60.0
    """How long a start may take."""

    def __init__(self, folder: Path, core: int | None) -> None:
        self.folder = folder
        self.core = core
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def pid(self) -> int:
        """Of the running server."""
        assert self.process is not None, f"{self.name} is not running"
        return self.process.pid

    @property
    def data(self) -> Path:
        """Where the server keeps its files."""
        return self.folder / "data"

    def command(self) -> list[str]:
        """What is executed."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Variables the server needs beside the inherited ones."""
        return {}

    def start(self) -> float:
        """Start (again, if there is data already) and wait for the first answered Metadata request."""
        self.port = procs.free_port()
        command, log = self.command(), self.folder / "server.log"
        begin = time.monotonic()
        self.process = procs.spawn(command, log, self.core, self.environment())
        try:
            while True:
                try:
                    admin.wait_first_answer(self.port, timeout_s=0.5)
                    return time.monotonic() - begin
                except admin.AdminError:
                    if self.process.poll() is not None or time.monotonic() - begin > self.patience_s:
                        tail = log.read_text(errors="replace")[-2000:]
                        raise Missing(f"{self.name} does not come up: {' '.join(command)}\n{tail}") from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server if it runs."""
        if self.process is not None:
            procs.stop(self.process)
            self.process = None

    def wipe(self) -> None:
        """Forget all data; the server must not be running."""
        shutil.rmtree(self.data, ignore_errors=True)


class Tapelog(Side):
    """This repository's broker, run by `tape up`; `interpreted` ignores compiled modules."""

    name = "tapelog"

    def __init__(self, folder: Path, core: int | None, *, page_cache: bool, interpreted: bool = False) -> None:
        super().__init__(folder, core)
        self.settings = {"log.segment.delete.delay.ms": DELETE_DELAY_MS}
        if page_cache:
            self.settings["tapelog.flush"] = "page-cache"
        self.interpreted = interpreted
        if interpreted:
            self.name = "interpreted"

    def command(self) -> list[str]:
        out = [
            sys.executable,
            "-m",
            "tapelog",
            "up",
            "--bare",
            "--listen",
            f"127.0.0.1:{self.port}",
            "--data",
            str(self.data),
        ]
        for name, value in self.settings.items():
            out += ["--set", f"{name}={value}"]
        return out

    def environment(self) -> dict[str, str]:
        hot = {"TAPELOG_HOT": "interpreted"} if self.interpreted else {}
        return {"PYTHONPATH": str(REPOSITORY / "src"), "PYTHONDONTWRITEBYTECODE": "", **hot}

    @staticmethod
    def compiled() -> bool:
        """Whether this checkout's hot modules are compiled, and from the sources as they are now."""
        state = [sys.executable, str(REPOSITORY / "tools" / "compiled.py"), "state"]
        return subprocess.run(state, capture_output=True, text=True, check=False).stdout.strip() == "yes"


class Kafka(Side):
    """Apache Kafka in KRaft combined mode: stock garbage collector flags, 1 GB heap, stock thread counts."""

    name = "kafka"

    def __init__(self, folder: Path, core: int | None) -> None:
        super().__init__(folder, core)
        self.jars = find_kafka()
        self.java = find_java()

    def start(self) -> float:
        """Format the data folder on first use, then start; formatting does not count."""
        self._write_properties()
        if not (self.data / "meta.properties").exists():
            tool = [self.java, "-cp", str(self.jars / "*"), "kafka.tools.StorageTool"]
            cluster = subprocess.run([*tool, "random-uuid"], capture_output=True, text=True, check=True).stdout.split()[
                -1
            ]
            with open(self.folder / "format.log", "wb") as log:
                format_it = [*tool, "format", "-t", cluster, "-c", str(self.folder / "server.properties")]
                subprocess.run(format_it, stdout=log, stderr=log, check=True)
        return super().start()

    def _write_properties(self) -> None:
        self._ports = procs.free_port(), procs.free_port()
        broker, controller = (f"127.0.0.1:{port}" for port in self._ports)
        listeners = f"PLAINTEXT://{broker},CONTROLLER://{controller}"
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.segment.delete.delay.ms": DELETE_DELAY_MS,
        }
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        (self.folder / "server.properties").write_text(text)

    def command(self) -> list[str]:
        self.port = self._ports[0]
        collector = "-XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
        return [
            self.java,
            *(
                "-Xms1G",
                "-Xmx1G",
                "-server",
                *collector.split(),
                "-XX:+ExplicitGCInvokesConcurrent",
                "-Djava.awt.headless=true",
            ),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *("-cp", str(self.jars / "*"), "kafka.Kafka", str(self.folder / "server.properties")),
        ]


def kafka_folders() -> list[Path]:
    """Where Kafka's jars are looked for, in this order."""
    asked = os.environ.get("TAPELOG_KAFKA_LIB")
    usual = [REPOSITORY / ".tools" / "kafka" / "lib", Path.home() / ".cache" / "tapelog-peers" / "kafka" / "lib"]
    return ([Path(asked)] if asked else []) + usual


def find_kafka() -> Path:
    """The folder with Apache Kafka's jars."""
    for folder in kafka_folders():
        if any(folder.glob("kafka_2.13-*.jar")):
            return folder
    raise Missing(
        f"Apache Kafka {KAFKA_VERSION} was not found. `make clients` brings it where Maven is installed; or unpack its "
        "binary release and set TAPELOG_KAFKA_LIB to its libs folder"
    )


def find_java() -> str:
    """A Java runtime; Kafka 4 brokers need 17 or newer."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        raise Missing("Apache Kafka needs Java 17 or newer: apt install openjdk-17-jre-headless")
    return found
