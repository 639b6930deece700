"""Where the replicas of new partitions go, and whether a manual assignment makes sense.

Pure: brokers and entropy in, assignments out. Round robin from a random start, so that leaders spread evenly and
followers of neighbouring partitions land on different brokers.
"""

from __future__ import annotations

from tapelog.base.ids import DIR_UNASSIGNED
from tapelog.base.ports import Entropy
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.record_types import PartitionRecord
from tapelog.wire.errors import ErrorCode, KafkaError


def place(image: MetadataImage, count: int, replication_factor: int, entropy: Entropy) -> list[list[int]]:
    """Replicas for `count` new partitions, leader first; KafkaError if there are too few brokers."""
    active = [id for id in sorted(image.brokers) if image.brokers[id].active]
    waiting = [id for id in sorted(image.brokers) if not image.brokers[id].active]
    registered = len(active) + len(waiting)
    if replication_factor > registered:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor {replication_factor} is more than the {registered} registered broker(s)",
        )
    if not active:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced")
    start = entropy.below(len(active))
    shift = entropy.below(len(active))
    fill = waiting[: max(0, replication_factor - len(active))]
    return [
        _round(active, start + index, shift + index // len(active), min(replication_factor, len(active))) + fill
        for index in range(count)
    ]


def _round(brokers: list[int], first: int, shift: int, size: int) -> list[int]:
    count = len(brokers)
    followers = [brokers[(first + 1 + (shift + step) % (count - 1)) % count] for step in range(size - 1)]
    return [brokers[first % count], *followers]


def check_manual(image: MetadataImage, replicas: list[int], expected_size: int | None) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these brokers can hold a partition."""
    if not replicas:
        raise _bad("A partition has an empty list of replicas")
    for position, id in enumerate(replicas):
        if id in replicas[:position]:
            raise _bad(f"Broker {id} appears more than once among the replicas of a partition")
        if id not in image.brokers:
            raise _bad(f"Broker {id} is not registered")
    if expected_size is not None and len(replicas) != expected_size:
        raise _bad(f"A partition has {len(replicas)} replica(s) where the others have {expected_size}")
    if not any(image.brokers[id].active for id in replicas):
        raise _bad(f"None of the brokers {replicas} is active")


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def partition_record(image: MetadataImage, topic_id: bytes, index: int, replicas: list[int]) -> PartitionRecord:
    """The record that brings a new partition into being: active replicas are in sync, the first of them leads."""
    isr = [id for id in replicas if image.brokers[id].active]
    assert isr, "placement gives at least one active replica"
    directories = []
    for id in replicas:
        log_dirs = image.brokers[id].log_dirs
        directories.append(log_dirs[0] if len(log_dirs) == 1 else DIR_UNASSIGNED)
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=directories,
    )
