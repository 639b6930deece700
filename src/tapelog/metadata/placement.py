"""Where the replicas of new partitions go, and whether a manual assignment makes sense.

Pure: an image and entropy in, assignments out. The partitions of one request are dealt out evenly, leaders as well as
replicas; where that leaves a choice, the broker that holds the least gets it. Replicas of a partition go to as many
racks as there are. Fenced brokers get replicas only where there are too few others, and never lead. Brokers that are
leaving or cordoned (every directory of theirs) get none.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Entropy
from tapelog.metadata.electorate import default_directory
from tapelog.metadata.image import RESOURCE_BROKER, BrokerImage, MetadataImage
from tapelog.metadata.record_types import PartitionRecord
from tapelog.wire.errors import ErrorCode, KafkaError

LOADS_PARTITIONS_MAX: Final = 50_000
"""Above this many partitions, chance spreads well enough, and counting them for every request would cost too much."""


def place(image: MetadataImage, count: int, replication_factor: int, entropy: Entropy) -> list[list[int]]:
    """Replicas for `count` new partitions, leader first; KafkaError if there are too few brokers."""
    usable = [image.brokers[id] for id in sorted(image.brokers) if _usable(image, image.brokers[id])]
    active = [broker for broker in usable if not broker.fenced]
    if replication_factor > len(usable):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor {replication_factor} is more than the {len(usable)} usable broker(s)",
        )
    if not active:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced")
    dealer = _Dealer(image, active, entropy)
    waiting = [broker.id for broker in usable if broker.fenced]
    fill = waiting[: max(0, replication_factor - len(active))]
    return [[*dealer.deal(min(replication_factor, len(active))), *fill] for _ in range(count)]


def _usable(image: MetadataImage, broker: BrokerImage) -> bool:
    if broker.in_controlled_shutdown:
        return False
    if image.config(RESOURCE_BROKER, str(broker.id)).get("cordoned.log.dirs") == "*":
        return False  # its own heartbeats will say so, too, a little later
    return not broker.cordoned_log_dirs or any(id not in broker.cordoned_log_dirs for id in broker.log_dirs)


class _Dealer:
    """Deals one request's partitions to brokers, remembering who got how much."""

    def __init__(self, image: MetadataImage, brokers: list[BrokerImage], entropy: Entropy) -> None:
        start = entropy.below(len(brokers))
        self.ids = [broker.id for broker in brokers[start:] + brokers[:start]]
        self.racks = {broker.id: broker.rack or "" for broker in brokers}
        self.leads = dict.fromkeys(self.ids, 0)
        self.holds = dict.fromkeys(self.ids, 0)
        self.follows: dict[tuple[int, int], int] = {}
        self.led, self.held = _loads(image, self.ids)

    def deal(self, size: int) -> list[int]:
        """One partition's replicas, leader first."""
        leader = min(self.ids, key=lambda id: (self.leads[id], self.holds[id], self.led[id], self.held[id]))
        chosen = [leader]
        in_rack = {self.racks[leader]: 1}
        while len(chosen) < size:
            follower = min(
                (id for id in self.ids if id not in chosen),
                key=lambda id: (
                    in_rack.get(self.racks[id], 0),
                    self.holds[id],
                    self.follows.get((leader, id), 0),
                    self.held[id],
                ),
            )
            chosen.append(follower)
            in_rack[self.racks[follower]] = in_rack.get(self.racks[follower], 0) + 1
            self.follows[(leader, follower)] = self.follows.get((leader, follower), 0) + 1
        self.leads[leader] += 1
        for id in chosen:
            self.holds[id] += 1
        return chosen


def _loads(image: MetadataImage, ids: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """How many partitions each broker leads by preference, and how many replicas it holds."""
    led, held = dict.fromkeys(ids, 0), dict.fromkeys(ids, 0)
    room = LOADS_PARTITIONS_MAX
    for topic in image.topics.values():
        room -= len(topic.partitions)
        if room < 0:
            return dict.fromkeys(ids, 0), dict.fromkeys(ids, 0)
        for partition in topic.partitions:
            if partition.replicas[0] in led:
                led[partition.replicas[0]] += 1
            for id in partition.replicas:
                if id in held:
                    held[id] += 1
    return led, held


def check_manual(image: MetadataImage, replicas: list[int], expected_size: int | None, alive: bool = True) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these brokers can hold a partition; one must be active if `alive`."""
    if not replicas:
        raise _bad("A partition has an empty list of replicas")
    for position, id in enumerate(replicas):
        if id in replicas[:position]:
            raise _bad(f"Broker {id} appears more than once among the replicas of a partition")
        if id not in image.brokers:
            raise _bad(f"Broker {id} is not registered")
    if expected_size is not None and len(replicas) != expected_size:
        raise _bad(f"A partition has {len(replicas)} replica(s) where the others have {expected_size}")
    if alive and not any(image.brokers[id].active for id in replicas):
        raise _bad(f"None of the brokers {replicas} is active")


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def partition_record(
    image: MetadataImage, topic_id: bytes, index: int, replicas: list[int], leader_epoch: int = 0
) -> PartitionRecord:
    """The record that brings a new partition into being: active replicas are in sync, the first of them leads."""
    isr = [id for id in replicas if image.brokers[id].active]
    assert isr, "placement gives at least one active replica"
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=leader_epoch,
        partition_epoch=0,
        directories=[default_directory(image.brokers[id]) for id in replicas],
    )
