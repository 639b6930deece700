"""Whether a batch may be appended where not everything may: by role, by who is in sync, by bounds on storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.log.log import CLIENT, COORDINATOR
from tapelog.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tapelog.replication.partition import Partition


def admit(partition: Partition, origin: int, size: int) -> None:
    """Take a batch of that size into account, or raise KafkaError. Bounds on storage are for clients: markers and what
    coordinators write come on top."""
    if not partition.leading:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.topic}-{partition.index} is not led here")
    if origin == COORDINATOR and partition.under_min_isr:
        name = f"{partition.topic}-{partition.index}"
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"{name} has too few in-sync replicas")
    if origin == CLIENT:
        for quota in partition.quotas:
            quota.check(size)
    for quota in partition.quotas:
        quota.took(size)
