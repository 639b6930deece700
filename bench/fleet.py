"""The servers of one bench run: started when first needed, on the server core, stopped and wiped at the end."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path

from bench import admin, frames, load, procs
from bench.load import Shape
from bench.scenarios import FETCH_BATCH, MIB, SCENARIOS, Scenario
from bench.sides import Kafka, Missing, Side, Tapelog

SIDES = ("tapelog", "kafka", "interpreted")
FETCH_FILL_MB = 256.0
"""Per partition; small enough to stay in the page cache, large enough not to sit in a CPU cache."""
WARM_UP_SHARE, WARM_UP_STRETCH = 0.6, 4
WARM_UP = (
    "produce-1r-50c-5f",
    "produce-16k",
    "produce-1m-100b",
    "produce-1m-1k",
    "produce-1m-lz4",
    "fetch-1m-1c",
    "rtt-1000",
)


class Fleet:
    """Gives out running servers by side name; a server for the default flush is a process of its own."""

    def __init__(self, folder: Path, *, produce_version: int, pin: bool) -> None:
        self.folder = folder
        self.produce_version = produce_version
        server, client = procs.cores()
        self.server_core = server if pin else None
        self.client_core = client if pin else None
        self._running: dict[str, Side] = {}
        self._serial = itertools.count(1)

    def make(self, side: str, *, fsync: bool = False, label: str = "") -> Side:
        """A server that has not been started, with a data folder of its own."""
        folder = self.folder / f"{side}{'-fsync' if fsync else ''}{label}"
        if side == "kafka":
            return Kafka(folder, self.server_core)
        return Tapelog(folder, self.server_core, page_cache=not fsync, interpreted=side == "interpreted")

    def get(self, side: str, *, fsync: bool = False) -> Side:
        """The running server of a side. Kafka serves both flush modes, by topic configuration."""
        key = f"{side}{'-fsync' if fsync and side != 'kafka' else ''}"
        if key not in self._running:
            made = self.make(side, fsync=fsync and side != "kafka")
            made.start()
            self._running[key] = made
        return self._running[key]

    def topic(self, server: Side, scenario: Scenario, partitions: int = 0) -> str:
        """A new topic for the scenario, online. Segments large enough that nobody rolls during a run."""
        name, partitions = f"bench-{next(self._serial)}", partitions or scenario.shape.partitions
        configs = {"segment.bytes": str(1 << 30)}
        if scenario.fsync and isinstance(server, Kafka):
            configs["flush.messages"] = "1"
        with admin.Admin(server.port) as a:
            a.create(name, partitions, configs)
            a.wait_online(name, partitions)
        return name

    def drop(self, server: Side, topic: str) -> None:
        """Delete a topic and let write-back calm down, so that one run does not disturb the next."""
        with admin.Admin(server.port) as a:
            a.delete(topic)
        procs.settle()

    def fill(self, server: Side, topic: str, partitions: int) -> None:
        """Put records to fetch into every partition."""
        records, count = frames.batch_of_bytes(FETCH_BATCH, 100)
        frame = frames.produce(topic, records, count, version=self.produce_version)
        shape = Shape(partitions, 2, partitions, secs=60.0, warm_s=0.0, max_mb=FETCH_FILL_MB * partitions)
        load.raw("produce", server, frame, shape, self.client_core)

    def drive(self, server: Side, topic: str, scenario: Scenario) -> load.Figures:
        """One run of a produce, fetch or latency scenario."""
        if scenario.kind == "endtoend":
            return load.endtoend(server, topic, scenario.shape, self.client_core)
        if scenario.kind == "fetch":
            return load.raw("fetch", server, frames.fetch(topic, MIB), scenario.shape, self.client_core)
        records, count = scenario.records()
        frame = frames.produce(topic, records, count, version=self.produce_version)
        mode = "latency" if scenario.kind == "latency" else "produce"
        return load.raw(mode, server, frame, scenario.shape, self.client_core)

    def warm(self, server: Side, seconds: float) -> None:
        """Let a side run everything it will be measured on, for so long: a virtual machine compiles while it runs.

        On a machine shared with others, longer: until it has had most of that time on a CPU (bounded).
        """
        begin, cpu = time.monotonic(), procs.cpu_s(server.pid)
        mixed = [s.shortened() for name in WARM_UP for s in SCENARIOS if s.name == name]
        for scenario in itertools.cycle(mixed):
            took, used = time.monotonic() - begin, procs.cpu_s(server.pid) - cpu
            if took > WARM_UP_STRETCH * seconds or (took > seconds and used > WARM_UP_SHARE * seconds):
                return
            topic = self.topic(server, scenario)
            if scenario.kind == "fetch":
                self.fill(server, topic, scenario.shape.partitions)
            self.drive(server, topic, scenario)
            self.drop(server, topic)

    def close(self) -> None:
        """Stop everything and remove all data."""
        for server in self._running.values():
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


__all__ = ["SIDES", "Fleet", "Missing"]
