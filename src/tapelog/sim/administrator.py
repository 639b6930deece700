"""The administrator of a simulated cluster: makes and deletes topics, adds partitions, moves replicas and leaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tapelog.sim.cluster import Cluster
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest

SMALL_SEGMENTS: Final = {"index.interval.bytes": "200", "segment.index.bytes": "120"}
"""Segments roll when their index is full: every few batches."""
SCRATCH_MAX: Final = 3
REASSIGN_TIMEOUT_MS: Final = 1500


class Administrator:
    """One change at a time, through whichever node."""

    def __init__(self, cluster: Cluster, entropy: SimEntropy, note: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.entropy = entropy
        self.note = note
        self.busy = False
        self.scratch: dict[str, int] = {}
        """Topics of no importance, and how many partitions they have."""
        self._made = 0

    def create(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> None:
        """Make a topic, however long it takes."""
        client = self.cluster.session("admin")
        for _ in range(100):
            response = client.call(self._creation(name, partitions, configs), 5)
            code = response.topics[0].error_code
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            client.pass_time(50)
        raise AssertionError(f"the topic {name} cannot be made: {ErrorCode(code).name}")

    def act(self) -> None:
        """Change something, unless the last change is still under way."""
        if self.busy:
            return
        actions = [self._create, self._delete, self._grow, self._move, self._move, self._elect]
        actions[self.entropy.below(len(actions))]()

    def wake(self) -> None:
        """Nothing more is begun."""

    def _creation(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> CreateTopicsRequest:
        settings = {**SMALL_SEGMENTS, **(configs or {})}
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=self.cluster.replicas)
        topic.configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        return CreateTopicsRequest(topics=[topic], timeout_ms=1000)

    def _create(self) -> None:
        if len(self.scratch) < SCRATCH_MAX:
            self._made += 1
            name = f"scratch-{self._made}"
            self.scratch[name] = partitions = 1 + self.entropy.below(2)
            self._send(f"create {name}", self._creation(name, partitions), 5)

    def _delete(self) -> None:
        if self.scratch:
            name = list(self.scratch)[self.entropy.below(len(self.scratch))]
            del self.scratch[name]
            self._send(f"delete {name}", DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)

    def _grow(self) -> None:
        if self.scratch:
            name = list(self.scratch)[self.entropy.below(len(self.scratch))]
            self.scratch[name] += 1
            topic = CreatePartitionsTopic(name=name, count=self.scratch[name], assignments=None)
            self._send(f"grow {name}", CreatePartitionsRequest(topics=[topic], timeout_ms=1000), 3)

    def _move(self) -> None:
        """Give a partition of importance other replicas, or the same in another order, or take that back."""
        nodes = [machine.node_id for machine in self.cluster.machines]
        if len(nodes) < 3:
            return
        name, count = (("orders", 2), ("payments", 3), ("__consumer_offsets", 2))[self.entropy.below(3)]
        part = ReassignablePartition(partition_index=self.entropy.below(count))
        if self.entropy.chance(20):
            part.replicas = None
        else:
            for last in range(len(nodes) - 1, 0, -1):
                other = self.entropy.below(last + 1)
                nodes[last], nodes[other] = nodes[other], nodes[last]
            part.replicas = nodes[: self.cluster.replicas]
        request = AlterPartitionReassignmentsRequest(timeout_ms=REASSIGN_TIMEOUT_MS)
        request.topics = [ReassignableTopic(name=name, partitions=[part])]
        self._send(f"move {name}-{part.partition_index} to {part.replicas}", request, 0)

    def _elect(self) -> None:
        self._send("elect preferred leaders", ElectLeadersRequest(topic_partitions=None, timeout_ms=1000), 2)

    def _send(self, what: str, request: Any, version: int) -> None:
        self.note(what)
        self.busy = True

        def done(_: Any) -> None:
            self.busy = False

        self.cluster.router("admin").send(request, version, done)
