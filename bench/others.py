"""Other message brokers where they are installed: 1 KiB publishes, each confirmed as stored, beside our two sides.

They speak protocols of their own and promise different things, so their rows give orders of magnitude, not ratios.
Each runs on the server core with a temporary data folder and a free loopback port.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from bench import procs
from bench.fleet import Fleet
from bench.load import Figures, LoadError
from bench.publish import STREAM
from bench.scenarios import Scenario
from bench.sides import REPOSITORY, Missing

UP_WITHIN_S = 60.0


class Run(Protocol):
    """One row of the comparison."""

    def once(self) -> Figures:
        """One repetition."""

    def close(self) -> None:
        """Stop what was started for it."""


class KafkaProtocolRun:
    """A side of the main comparison, with the same messages: 1-record Produce requests."""

    def __init__(self, fleet: Fleet, scenario: Scenario, side: str, *, fsync: bool) -> None:
        self.fleet = fleet
        self.side = side
        self.scenario = replace(scenario, kind="produce", fsync=fsync)

    def once(self) -> Figures:
        server = self.fleet.get(self.side, fsync=self.scenario.fsync)
        topic = self.fleet.topic(server, self.scenario)
        try:
            return self.fleet.drive(server, topic, self.scenario)
        finally:
            self.fleet.drop(server, topic)

    def close(self) -> None:
        """The fleet stops its servers itself."""


class Peer:
    """A broker with a protocol of its own: started fresh for every repetition, stopped after it."""

    protocol = ""
    binary = ""

    def __init__(self, fleet: Fleet, scenario: Scenario, label: str) -> None:
        self.shape = scenario.shape
        self.size = scenario.record_size
        self.folder = fleet.folder / label
        self.cores = fleet.server_core, fleet.client_core
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @classmethod
    def present(cls) -> bool:
        """Whether it is installed."""
        return find(cls.binary) is not None

    def command(self) -> list[str]:
        """How it is started on `self.port` with `self.folder`."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Variables for it."""
        return {}

    def prepare(self) -> None:
        """After it answers: create what is published to."""

    def once(self) -> Figures:
        self.start()
        try:
            self.prepare()
            return self._measure()
        finally:
            self.close()

    def start(self) -> None:
        """Start and wait until the port accepts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.port = procs.free_port()
        self.process = procs.spawn(self.command(), self.folder / "server.log", self.cores[0], self.environment())
        end = time.monotonic() + UP_WITHIN_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.close()
                    raise Missing(f"{self.binary} does not come up") from None
                time.sleep(0.05)

    def close(self) -> None:
        if self.process is not None:
            procs.stop(self.process)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _measure(self) -> Figures:
        assert self.process is not None
        core, words = self.cores[1], (self.port, self.shape.conns, self.shape.depth, self.shape.secs, self.size)
        command = [sys.executable, "-m", "bench.publish", self.protocol, *map(str, words)]
        pin = None if core is None else (lambda: os.sched_setaffinity(0, {core}))
        client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, preexec_fn=pin)
        assert client.stdout is not None
        if client.stdout.readline().strip() != "begin":
            client.wait()
            raise LoadError(f"the publisher for {self.protocol} failed")
        cpu = procs.cpu_s(self.process.pid)
        client.stdout.readline()
        cpu = procs.cpu_s(self.process.pid) - cpu
        answer = json.loads(client.stdout.readline())
        client.wait()
        took, requests = answer["elapsed_s"], max(answer["requests"], 1.0)
        return {
            "req_s": requests / took,
            "mb_s": requests * self.size / took / 1e6,
            "cpu_us_req": cpu / requests * 1e6,
            "cpu_s_gb": cpu / (requests * self.size) * 1e9,
            "client_pct": answer["client_cpu_s"] / took * 100,
        }


class RedisStreams(Peer):
    """Redis with its append-only file, synced every second or on every write."""

    protocol, binary = "redis", "redis-server"

    def __init__(self, fleet: Fleet, scenario: Scenario, label: str, fsync: str) -> None:
        super().__init__(fleet, scenario, label)
        self.fsync = fsync

    def command(self) -> list[str]:
        options = f"--port {self.port} --bind 127.0.0.1 --appendonly yes --appendfsync {self.fsync}".split()
        quiet = ["--auto-aof-rewrite-percentage", "0", "--save", ""]
        return [str(find(self.binary)), *options, *quiet, "--dir", str(self.folder)]


class NatsJetStream(Peer):
    """NATS with a file stream, in its default sync interval."""

    protocol, binary = "nats", "nats-server"

    def command(self) -> list[str]:
        return [str(find(self.binary)), "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]

    def prepare(self) -> None:
        config = json.dumps({"name": STREAM, "subjects": [STREAM], "storage": "file"}).encode()
        with socket.create_connection(("127.0.0.1", self.port), 5.0) as s:
            s.sendall(b'CONNECT {"verbose":false}\r\nSUB _INBOX.create 1\r\n')
            s.sendall(
                b"PUB $JS.API.STREAM.CREATE.%s _INBOX.create %d\r\n%s\r\n" % (STREAM.encode(), len(config), config)
            )
            answer = b""
            while b"MSG _INBOX.create" not in answer or not answer.endswith(b"}\r\n"):
                chunk = s.recv(1 << 16)
                if not chunk:
                    raise LoadError("nats closed the connection")
                answer += chunk
        if b'"error"' in answer:
            raise LoadError(f"nats: {answer[-200:]!r}")


class RabbitMq(Peer):
    """RabbitMQ: persistent messages in a durable classic queue, publisher confirms."""

    protocol, binary = "amqp", "rabbitmq-server"

    def command(self) -> list[str]:
        return [str(find(self.binary))]

    def environment(self) -> dict[str, str]:
        self.mapper = str(procs.free_port())
        plugins = self.folder / "enabled_plugins"
        plugins.write_text("[].\n")
        return {
            "HOME": str(self.folder),
            "RABBITMQ_NODENAME": f"bench{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(procs.free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.folder),
            "RABBITMQ_LOG_BASE": str(self.folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "none"),
            "ERL_EPMD_PORT": self.mapper,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def close(self) -> None:
        """Stop the node, and the port mapper that Erlang left running for it."""
        started = self.process is not None
        super().close()
        mapper = shutil.which("epmd")
        if started and mapper:
            subprocess.run([mapper, "-port", self.mapper, "-kill"], capture_output=True, check=False)


def find(binary: str) -> Path | None:
    """An installed server; RabbitMQ's own script rather than the system service's wrapper."""
    for folder in ("/usr/lib/rabbitmq/bin", *os.get_exec_path(), "/usr/sbin", "/usr/local/sbin"):
        candidate = Path(folder) / binary
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def runs(fleet: Fleet, scenario: Scenario, sides: Sequence[str]) -> dict[str, Run]:
    """All rows that can be measured here, by name."""
    out: dict[str, Run] = {}
    for side in sides:
        weak, strong = ("", " flush.messages=1") if side == "kafka" else (" page-cache", "")
        out[f"{side}{weak}"] = KafkaProtocolRun(fleet, scenario, side, fsync=False)
        out[f"{side}{strong}"] = KafkaProtocolRun(fleet, scenario, side, fsync=True)
    if RedisStreams.present():
        out["redis aof everysec"] = RedisStreams(fleet, scenario, "redis-everysec", "everysec")
        out["redis aof always"] = RedisStreams(fleet, scenario, "redis-always", "always")
    if NatsJetStream.present():
        out["nats jetstream file"] = NatsJetStream(fleet, scenario, "nats")
    if RabbitMq.present():
        out["rabbitmq durable"] = RabbitMq(fleet, scenario, "rabbitmq")
    return out
