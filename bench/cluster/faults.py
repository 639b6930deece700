"""One cluster under faults: who leads, who controls, who is hurt, and when everything is well again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import struct
import sys
import time
from typing import Final

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.cluster.probe import Probe
from bench.cluster.sides import Cluster
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tapelog.wire.messages.describe_quorum_response import DescribeQuorumResponse
from tapelog.wire.primitives import Reader, Writer

KINDS: Final = (
    "kill -9, leader",
    "kill -9, leader and controller",
    "SIGSTOP, leader",
    "SIGSTOP, leader and controller",
)
TOPIC, NODES, PARTITIONS = "failover", 3, 6
GIVE_UP_S: Final = 60.0
"""An outage longer than this counts as this long."""
CALM_S_MAX: Final = 120.0


class Hurt:
    """A cluster, a producer, and one fault after the other, in three steps: `prepare`, `strike`, `heal`."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        wanted = NewTopic(TOPIC, PARTITIONS, NODES, config={"min.insync.replicas": "2"})
        self.admin.create_topics([wanted])[TOPIC].result(30)
        self.probe = self._new_probe()
        self.victim = 0

    def prepare(self, kind: str) -> None:
        """Wait until the cluster is whole; choose a partition and the node to be hurt."""
        while True:
            self._calm()
            self._steady()
            active = controller(self.cluster)
            partitions = self.admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions
            fitting = [p for p in partitions.values() if (p.leader == active) == kind.endswith("controller")]
            if fitting:
                break
        chosen = self.chance.choice(fitting)
        self.victim = chosen.leader
        self.probe.watch(chosen.id)
        time.sleep(self.chance.uniform(0.3, 0.9))  # where between two heartbeats it happens is left to chance

    def strike(self, kind: str) -> float:
        """Do it; seconds until a record sent afterwards is acknowledged."""
        pid = self.cluster.pid_of(self.victim)
        os.kill(pid, signal.SIGSTOP if kind.startswith("SIGSTOP") else signal.SIGKILL)
        took = self.probe.first_after(time.monotonic(), GIVE_UP_S)
        return GIVE_UP_S if took is None else took

    def heal(self, kind: str) -> None:
        """Bring the node back, without waiting for it."""
        if kind.startswith("SIGSTOP"):
            os.kill(self.cluster.pid_of(self.victim), signal.SIGCONT)
        else:
            self.cluster.kill(self.victim)
            self.cluster.revive(self.victim)

    def close(self) -> None:
        """Stop the producer, let a stopped node go on so that it can be ended."""
        self.probe.close()
        for pid in self.cluster.pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)

    def _new_probe(self) -> Probe:
        probe = Probe(self.cluster.bootstrap, TOPIC, PARTITIONS)
        probe.start()
        return probe

    def _steady(self) -> None:
        try:
            self.probe.steady(30)
        except TimeoutError as error:
            sys.stderr.write(f"{self.cluster.name}: a new producer, since {error}\n")
            self.probe.close()
            self.probe = self._new_probe()
            self.probe.steady(60)

    def _calm(self) -> None:
        """Until every replica is in sync and every partition is led as preferred."""
        end = time.monotonic() + CALM_S_MAX
        while True:
            with contextlib.suppress(KafkaException):
                partitions = self.admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions
                in_sync = all(len(p.isrs) == NODES for p in partitions.values())
                moved = [TopicPartition(TOPIC, p.id) for p in partitions.values() if p.leader != p.replicas[0]]
                if in_sync and not moved:
                    return
                if in_sync:
                    self.admin.elect_leaders(ElectionType.PREFERRED, moved).result(10)
            if time.monotonic() > end:
                raise TimeoutError(f"the {self.cluster.name} cluster does not come back")
            time.sleep(0.2)


def controller(cluster: Cluster) -> int:
    """The active controller, as the quorum says."""
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
    )
    for _ in range(50):
        for port in cluster.ports:
            with contextlib.suppress(OSError, struct.error, IndexError):
                return _ask(port, request)
        time.sleep(0.1)
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
