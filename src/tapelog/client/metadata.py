"""What a cluster tells about itself, as frozen values: brokers, topics, partitions and their leaders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tapelog.client.settings import Address
from tapelog.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tapelog.wire.values import ZERO_UUID

NO_LEADER = -1


class TopicPartition(NamedTuple):
    """A partition by its topic's name; equal to the plain pair."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Broker:
    """A node, and where it says that it listens."""

    node_id: int
    address: Address
    rack: str | None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """A partition and who leads it; NO_LEADER while nobody does."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic, its partitions in order. `topic_id` is all zeros where the cluster has no ids."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionInfo, ...]

    @property
    def has_id(self) -> bool:
        """Does the cluster know it by an id, too?"""
        return self.topic_id != ZERO_UUID

    def find(self, partition: int) -> PartitionInfo | None:
        """The partition of that number."""
        if partition < len(self.partitions) and self.partitions[partition].partition == partition:
            return self.partitions[partition]
        return next((one for one in self.partitions if one.partition == partition), None)


def brokers_of(answer: MetadataResponse) -> dict[int, Broker]:
    """The brokers that an answer names, by id."""
    return {
        broker.node_id: Broker(broker.node_id, Address(broker.host, broker.port), broker.rack)
        for broker in answer.brokers
    }


def topic_of(told: MetadataResponseTopic) -> TopicInfo:
    """A topic as a value."""
    partitions = [
        PartitionInfo(
            one.partition_index,
            one.leader_id,
            one.leader_epoch,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
        )
        for one in told.partitions
    ]
    partitions.sort(key=lambda one: one.partition)
    return TopicInfo(told.name or "", told.topic_id, told.is_internal, tuple(partitions))
