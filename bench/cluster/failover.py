"""`python -m bench.cluster.failover`: how long an acks=all producer waits when the leader of its partition fails.

Three kinds of faults, many times each, on a Tapelog cluster and on an Apache Kafka cluster of three nodes with the same
timeouts, one cluster at a time: kill -9 of a leader, kill -9 of a leader that is the active controller too, SIGSTOP of
a leader. The figure is the time from the fault to the first acknowledgement of a record sent after it. Between faults
every replica is in sync and led as preferred.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import ElectionType, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench import procs
from bench.cluster.sides import Cluster, KafkaCluster, TapelogCluster
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tapelog.wire.messages.describe_quorum_response import DescribeQuorumResponse
from tapelog.wire.primitives import Reader, Writer

KINDS = ("leader", "leader and controller", "stopped leader")
TOPIC, NODES, PARTITIONS = "failover", 3, 6
INTERVAL_S = 0.005
GIVE_UP_S = 120.0
CLIENT = {
    "linger.ms": 0,
    "enable.idempotence": True,
    "request.timeout.ms": 2000,
    "socket.timeout.ms": 3000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}
"""The same for both. A client that waits longer than this for a node that is stopped would measure only itself."""


class Probe(threading.Thread):
    """Sends a record every few milliseconds to one partition, and notes when which was acknowledged."""

    def __init__(self, bootstrap: str, partition: int) -> None:
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})
        self.partition = partition
        self.acknowledged: list[tuple[float, float]] = []
        """(sent, acknowledged), in the order of acknowledgement."""
        self.stopping = threading.Event()

    def run(self) -> None:
        next_at = time.monotonic()
        while not self.stopping.is_set():
            now = time.monotonic()
            if now < next_at:
                self.producer.poll(min(0.002, next_at - now))
                continue
            next_at = max(next_at + INTERVAL_S, now)

            def delivered(error: KafkaError | None, _: Message, sent: float = now) -> None:
                if error is None:
                    self.acknowledged.append((sent, time.monotonic()))

            try:
                self.producer.produce(TOPIC, b"x" * 100, partition=self.partition, on_delivery=delivered)
            except BufferError:
                self.producer.poll(0.01)

    def first_after(self, fault: float) -> float:
        """Wait for the first acknowledgement of what was sent after the fault; how long after the fault it came."""
        looked_at = max(0, len(self.acknowledged) - 1000)
        while time.monotonic() < fault + GIVE_UP_S:
            for sent, at in self.acknowledged[looked_at:]:
                if sent >= fault:
                    return at - fault
            time.sleep(0.001)
        raise TimeoutError(f"no acknowledgement within {GIVE_UP_S} s")

    def close(self) -> None:
        """Stop sending."""
        self.stopping.set()
        self.join()
        self.producer.flush(30)


def controller(cluster: Cluster) -> int:
    """The active controller, as the quorum says."""
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
    )
    for port in cluster.ports:
        try:
            return _ask(port, request)
        except (OSError, struct.error, IndexError):
            continue
    raise OSError("no node says who the controller is")


def _ask(port: int, request: DescribeQuorumRequest) -> int:
    writer = Writer()
    request.encode(writer, 1)
    head = struct.pack(">hhih", 55, 1, 1, 5) + b"bench\0"
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        body = head + writer.tobytes()
        sock.sendall(struct.pack(">i", len(body)) + body)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
            chunk = sock.recv(65536)
            if not chunk:
                raise OSError("closed")
            data += chunk
    answer = DescribeQuorumResponse.decode(Reader(data, 9, len(data)), 1)
    leader = int(answer.topics[0].partitions[0].leader_id)
    if leader < 1:
        raise OSError("there is no controller")
    return leader


class Measured:
    """One cluster, one fault after the other."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        wanted = NewTopic(TOPIC, PARTITIONS, NODES, config={"min.insync.replicas": "2"})
        self.admin.create_topics([wanted])[TOPIC].result(30)
        self.calm()

    def calm(self) -> None:
        """Until every replica is in sync and every partition is led as preferred."""
        end = time.monotonic() + GIVE_UP_S
        while True:
            try:
                partitions = self.admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions
                in_sync = all(len(p.isrs) == NODES for p in partitions.values())
                moved = [TopicPartition(TOPIC, p.id) for p in partitions.values() if p.leader != p.replicas[0]]
                if in_sync and not moved:
                    return
                if in_sync:
                    self.admin.elect_leaders(ElectionType.PREFERRED, moved).result(10)
            except KafkaException:
                pass
            if time.monotonic() > end:
                raise TimeoutError("the cluster does not come back")
            time.sleep(0.2)

    def once(self, kind: str) -> float:
        """One fault of that kind; seconds without an acknowledgement."""
        active = controller(self.cluster)
        partitions = self.admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions
        fitting = [p for p in partitions.values() if (p.leader == active) == (kind == "leader and controller")]
        chosen = self.chance.choice(fitting)
        victim = chosen.leader
        probe = Probe(self.cluster.bootstrap, chosen.id)
        probe.start()
        probe.first_after(time.monotonic())
        time.sleep(self.chance.uniform(0.5, 1.5))
        pid = self.cluster.pid_of(victim)
        fault = time.monotonic()
        if kind == "stopped leader":
            os.kill(pid, signal.SIGSTOP)
        else:
            os.kill(pid, signal.SIGKILL)
        try:
            return probe.first_after(fault)
        finally:
            if kind == "stopped leader":
                os.kill(pid, signal.SIGCONT)
            else:
                self.cluster.kill(victim)
                self.cluster.revive(victim)
            probe.close()
            self.calm()


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.failover", description=__doc__)
    parser.add_argument("--faults", type=int, default=50, help="of each kind, on each side")
    parser.add_argument("--session-ms", type=int, default=3000, help="broker.session.timeout.ms of both (Kafka: 9000)")
    parser.add_argument("--sides", default="tapelog,kafka")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    if options.nice:
        procs.prioritise(options.nice)
    settings = {
        "broker.session.timeout.ms": str(options.session_ms),
        "broker.heartbeat.interval.ms": str(options.session_ms // 6),
    }
    results: dict[str, dict[str, list[float]]] = {}
    for side in options.sides.split(","):
        folder = Path(tempfile.mkdtemp(prefix="tapelog-failover-"))
        cluster: Cluster
        if side == "kafka":
            cluster = KafkaCluster(folder, NODES, settings, heap="512m")
        else:
            cluster = TapelogCluster(folder, NODES, settings, fsync=True)
        try:
            cluster.start()
            measured = Measured(cluster, 1)
            for kind in options.kinds.split(","):
                for number in range(options.faults):
                    took = measured.once(kind)
                    results.setdefault(kind, {}).setdefault(side, []).append(took)
                    sys.stderr.write(f"{side}: {kind} {number + 1}: {took:.3f} s\n")
        finally:
            cluster.stop()
            shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(table(results) + "\n")
    if options.json is not None:
        options.json.write_text(json.dumps({"settings": vars(options), "results": results}, default=str, indent=1))
    return 0


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Median and worst, as Markdown."""
    lines = ["| fault | side | faults | p50 s | max s |", "|---|---|---|---|---|"]
    for kind, sides in results.items():
        for side, times in sides.items():
            lines.append(f"| {kind} | {side} | {len(times)} | {statistics.median(times):.2f} | {max(times):.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
