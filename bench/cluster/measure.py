"""One measurement of one cluster: throughput, latency, memory; and the topics that it needs."""

from __future__ import annotations

import itertools
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from bench import build, procs
from bench.cluster.sides import Cluster
from bench.load import Figures, run_driver

_serial = itertools.count(1)
ONLINE_TIMEOUT_S = 60.0


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
    """Delete a topic and let write-back calm down."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    client.delete_topics([topic], request_timeout=30)[topic].result()
    procs.settle()


def throughput(cluster: Cluster, topic: str, partitions: int, size: int, secs: float) -> Figures:
    """librdkafka with acks=all, as fast as it goes; CPU of all nodes for what was acknowledged."""
    words = [cluster.bootstrap, topic, str(partitions), str(size), "5", "1.0", str(secs)]
    before, begin = cluster.cpu_s(), time.monotonic()
    answer = run_driver([str(build.replicated()), *words], _Standing(cluster), None)
    used, took = cluster.cpu_s() - before, time.monotonic() - begin
    share = secs / took  # the driver also runs before and after what it counts
    gigabytes = answer["acked"] * size / 1e9
    return {
        "mb_s": answer["mb_s"],
        "cpu_s_gb": used * share / gigabytes,
        "mb_cpu_s": gigabytes * 1000 / (used * share),
        "p50_ms": answer["p50_us"] / 1000,
        "p99_ms": answer["p99_us"] / 1000,
        "other_pct": answer["other_pct"],
    }


def latency(cluster: Cluster, topic: str, rate: int, secs: float) -> Figures:
    """At a modest rate: until acknowledged by all, until delivered to a consumer."""
    words = [cluster.bootstrap, topic, "100", str(rate), "1.0", str(secs), "all"]
    before = cluster.cpu_s()
    answer = run_driver([str(build.endtoend()), *words], _Standing(cluster), None)
    return {
        "ack_p50_ms": answer["ack_p50_us"] / 1000,
        "ack_p99_ms": answer["ack_p99_us"] / 1000,
        "e2e_p50_ms": answer["e2e_p50_us"] / 1000,
        "e2e_p99_ms": answer["e2e_p99_us"] / 1000,
        "cpu_us_req": (cluster.cpu_s() - before) / answer["requests"] * 1e6,
        "other_pct": answer["other_pct"],
    }


class _Standing:
    """What run_driver needs of a side: a pid whose tree is the server. The first node stands for all."""

    def __init__(self, cluster: Cluster) -> None:
        self.pid = cluster.pids[0]
