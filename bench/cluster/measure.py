"""One measurement of one cluster: throughput, latency, memory; and the topics that it needs."""

from __future__ import annotations

import contextlib
import itertools
import os
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from bench import build, procs
from bench.cluster.sides import Cluster
from bench.load import Figures, run_driver

_serial = itertools.count(1)
ONLINE_TIMEOUT_S = 60.0
TIMEOUT_S = 60.0
"""How much longer than it should a driver may take."""


def new_topic(cluster: Cluster, partitions: int, replicas: int, configs: dict[str, str] | None = None) -> str:
    """A topic whose partitions are all led and in sync."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    name = f"bench-{next(_serial)}"
    wanted = {"segment.bytes": str(1 << 30), "min.insync.replicas": str(min(2, replicas)), **(configs or {})}
    client.create_topics([NewTopic(name, partitions, replicas, config=wanted)], request_timeout=30)[name].result()
    end = time.monotonic() + ONLINE_TIMEOUT_S
    while True:
        found = client.list_topics(name, timeout=10).topics[name].partitions
        if len(found) == partitions and all(p.leader >= 0 and len(p.isrs) == replicas for p in found.values()):
            return name
        if time.monotonic() > end:
            raise KafkaException(f"{name} is not in sync after {ONLINE_TIMEOUT_S} s")
        time.sleep(0.1)


def drop(cluster: Cluster, topic: str) -> None:
    """Delete a topic, if the cluster still answers, and let write-back calm down."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    with contextlib.suppress(KafkaException):
        client.delete_topics([topic], request_timeout=30)[topic].result()
    procs.settle()


def throughput(cluster: Cluster, topic: str, partitions: int, size: int, secs: float) -> Figures:
    """librdkafka with acks=all, as fast as it goes; CPU of all nodes for what was acknowledged."""
    words = [cluster.bootstrap, topic, str(partitions), str(size), "5", "1.0", str(secs)]
    before, begin, busy = cluster.cpu_s(), time.monotonic(), _OthersBusy()
    answer = run_driver([str(build.replicated()), *words], _Standing(cluster), None, timeout_s=secs + TIMEOUT_S)
    used, took = cluster.cpu_s() - before, time.monotonic() - begin
    share = secs / took  # the driver also runs before and after what it counts
    gigabytes = answer["acked"] * size / 1e9
    return {
        "mb_s": answer["mb_s"],
        "cpu_s_gb": used * share / gigabytes,
        "mb_cpu_s": gigabytes * 1000 / (used * share),
        "p50_ms": answer["p50_us"] / 1000,
        "p99_ms": answer["p99_us"] / 1000,
        "other_pct": busy.percent(used),
    }


def latency(cluster: Cluster, topic: str, rate: int, secs: float) -> Figures:
    """At a modest rate: until acknowledged by all, until delivered to a consumer."""
    words = [cluster.bootstrap, topic, "100", str(rate), "1.0", str(secs), "all"]
    before, busy = cluster.cpu_s(), _OthersBusy()
    answer = run_driver([str(build.endtoend()), *words], _Standing(cluster), None, timeout_s=secs + TIMEOUT_S)
    used = cluster.cpu_s() - before
    return {
        "ack_p50_ms": answer["ack_p50_us"] / 1000,
        "ack_p99_ms": answer["ack_p99_us"] / 1000,
        "e2e_p50_ms": answer["e2e_p50_us"] / 1000,
        "e2e_p99_ms": answer["e2e_p99_us"] / 1000,
        "cpu_us_req": used / answer["requests"] * 1e6,
        "other_pct": busy.percent(used),
    }


class _OthersBusy:
    """How busy the machine is with what belongs neither to the cluster nor to its client."""

    def __init__(self) -> None:
        self._begin, self._busy, self._own = time.monotonic(), procs.machine_busy_s(), _own_cpu_s()

    def percent(self, cluster_s: float) -> float:
        """Of the machine since the beginning; the cluster used cluster_s."""
        used = procs.machine_busy_s() - self._busy - (_own_cpu_s() - self._own) - cluster_s
        return max(0.0, 100 * used / ((time.monotonic() - self._begin) * (os.cpu_count() or 1)))


def _own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class _Standing:
    """What run_driver needs of a side: a pid whose tree is the server. The first node stands for all."""

    def __init__(self, cluster: Cluster) -> None:
        self.pid = cluster.pids[0]
