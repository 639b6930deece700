"""Runs of the coordinator scenarios: transactions, large groups, many groups, and what comes back after a restart."""

from __future__ import annotations

import sys
import time

from bench import admin, build, procs
from bench.fleet import Fleet
from bench.load import Figures, run_driver
from bench.scenarios import Scenario
from bench.sides import REPOSITORY, Side

RECORDS, RECORD_SIZE = 100, 100
MEMBERS, MEMBERS_PARTITIONS = 1000, 2000
STORM_MEMBERS, STORM_PARTITIONS = 100, 100
STORM_RATE = 20
"""Records a second to each partition while librdkafka's consumers come and go."""
STORM_SETTINGS = {
    "range": (),
    "cooperative": ("partition.assignment.strategy=cooperative-sticky",),
    "consumer": ("group.protocol=consumer",),
}
"""All that these consumers are told beside the group's name and to begin with the first record."""
GROUPS, OFFSETS_PER_GROUP = 10_000, 100
SEED = 7
LATENCIES = ("p50_us", "p90_us", "p99_us", "p999_us")


def once(fleet: Fleet, server: Side, scenario: Scenario) -> Figures:
    """One run of a scenario on a server that is up, with a topic of its own."""
    partitions = {
        "members": MEMBERS_PARTITIONS,
        "storm": STORM_PARTITIONS,
        "storm-clients": STORM_PARTITIONS,
        "commits": 1,
    }.get(scenario.kind, scenario.shape.partitions)
    topic = fleet.topic(server, scenario, partitions)
    try:
        if scenario.kind == "txn":
            return _transactions(fleet, server, scenario, topic)
        if scenario.kind == "members":
            return _members(fleet, server, scenario.name.rpartition("-")[2], topic)
        if scenario.kind == "storm":
            return _storm(fleet, server, scenario, topic)
        if scenario.kind == "storm-clients":
            return _storm_of_clients(fleet, server, scenario, topic)
        answer, cpu_s = _swarm(fleet, server, "commits", topic, f"--secs={scenario.shape.secs}")
        requests = answer["requests"]
        rates = {"commits_s": requests / answer["elapsed_s"], "cpu_us_req": cpu_s / requests * 1e6}
        return {**rates, "other_pct": answer["other_pct"]}
    finally:
        fleet.drop(server, topic)


def load(fleet: Fleet, side: str, rep: int) -> Figures:
    """A million offsets are committed and the server is started again: from start until all groups have theirs."""
    server = fleet.make(side, label=f"-load-{rep}")
    try:
        server.start()
        topic = "events"
        with admin.Admin(server.port) as a:
            a.create(topic, OFFSETS_PER_GROUP, {})
            a.wait_online(topic, OFFSETS_PER_GROUP)
        _swarm(fleet, server, "fill", topic, f"--partitions={OFFSETS_PER_GROUP}")
        server.stop()
        begin = time.monotonic()
        start_s = server.start()
        answer, _ = _swarm(fleet, server, "loaded", topic)
        back_s = time.monotonic() - begin  # with the start of the driver, some tenths of a second on either side
        cpu_s = procs.cpu_s(server.pid)
        return {"back_s": back_s, "start_s": start_s, "cpu_s": cpu_s, "other_pct": answer["other_pct"]}
    finally:
        server.stop()
        server.wipe()


def _transactions(fleet: Fleet, server: Side, scenario: Scenario, topic: str) -> Figures:
    shape = scenario.shape
    words = [topic, shape.partitions, RECORD_SIZE, RECORDS, shape.conns, shape.warm_s, shape.secs]
    before = procs.cpu_s(server.pid)
    command = [str(build.txn()), f"127.0.0.1:{server.port}", *map(str, words)]
    answer = run_driver(command, server, fleet.client_core)
    cpu_s = procs.cpu_s(server.pid) - before  # the warm-up's transactions cost, too
    costs = {"txn_s": answer["rate"], "cpu_us_txn": cpu_s / answer["all"] * 1e6}
    return {**costs, **{name: answer[name] for name in LATENCIES}, "other_pct": answer["other_pct"]}


def _members(fleet: Fleet, server: Side, protocol: str, topic: str) -> Figures:
    words = f"--protocol={protocol}", f"--members={MEMBERS}", f"--partitions={MEMBERS_PARTITIONS}"
    answer, cpu_s = _swarm(fleet, server, "members", topic, *words)
    return {**answer, "cpu_s": cpu_s}


def _storm(fleet: Fleet, server: Side, scenario: Scenario, topic: str) -> Figures:
    """100 members join and leave within a minute; seconds for which partitions had no owner."""
    protocol = f"--protocol={scenario.name.rpartition('-')[2]}"
    sizes = f"--members={STORM_MEMBERS}", f"--partitions={STORM_PARTITIONS}", f"--secs={scenario.shape.secs}"
    answer, cpu_s = _swarm(fleet, server, "storm", topic, protocol, *sizes)
    return {**answer, "cpu_s": cpu_s}


def _storm_of_clients(fleet: Fleet, server: Side, scenario: Scenario, topic: str) -> Figures:
    """100 librdkafka consumers join and leave within a minute; seconds between two deliveries of a partition."""
    words = [topic, STORM_PARTITIONS, STORM_MEMBERS, scenario.shape.secs, STORM_RATE, SEED]
    before = procs.cpu_s(server.pid)
    command = [str(build.storm()), f"127.0.0.1:{server.port}", *map(str, words)]
    answer = run_driver([*command, *STORM_SETTINGS[scenario.name.rpartition("-")[2]]], server, fleet.client_core)
    return {**answer, "cpu_s": procs.cpu_s(server.pid) - before}


def _swarm(fleet: Fleet, server: Side, run: str, topic: str, *words: str) -> tuple[Figures, float]:
    """One run of `bench.swarm`, and the server's CPU meanwhile."""
    before = procs.cpu_s(server.pid)
    head = [sys.executable, "-m", "bench.swarm", run, f"--port={server.port}", f"--topic={topic}", f"--groups={GROUPS}"]
    answer = run_driver([*head, *words], server, fleet.client_core, REPOSITORY)
    return answer, procs.cpu_s(server.pid) - before
