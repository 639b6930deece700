"""Which replica a consumer had better read from (KIP-392): one in its own rack, if that has what it wants.

Only replicas in sync count: one that lags would keep the consumer behind, and be chosen again and again.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.replication.partition import Partition


def nearest(partition: Partition, offset: int, rack: str, racks: Mapping[int, str]) -> int:
    """The follower that a consumer in that rack should fetch from this offset from; -1: the leader itself.

    racks: of the brokers that clients can reach."""
    lead = partition.leadership
    if lead is None or not rack or racks.get(partition.leader) == rack:
        return -1
    chosen, furthest = -1, (-1, 0)
    for follower in lead.followers.values():
        if (
            racks.get(follower.id) == rack
            and follower.id in lead.in_sync.isr
            and follower.start <= offset <= follower.end
            and (follower.end, follower.caught_up_ms) > furthest
        ):
            chosen, furthest = follower.id, (follower.end, follower.caught_up_ms)
    return chosen
