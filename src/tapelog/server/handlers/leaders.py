"""Where else: who leads a partition that a client asked the wrong broker for, and where that one listens.

For Produce from version 10, Fetch from 12 (the leader) and 16 (its address): a client with these hints finds its way
without asking for metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.server.node_api import NodeApi

if TYPE_CHECKING:
    from tapelog.metadata.image import Endpoint


def leader(node: NodeApi, topic: str, topic_id: bytes, by_id: bool, index: int) -> tuple[int, int] | None:
    """(who leads the partition, in which epoch), by the topic's id or name; None if there is no such partition."""
    state = node.topics_by_id.get(topic_id) if by_id else node.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return None
    hosted = state.partitions[index]
    if hosted is not None:
        return (node.node_id if hosted.leading else hosted.leader), hosted.leader_epoch
    known = node.image.partition(state.name, index)
    return (known.leader, known.leader_epoch) if known is not None else None


def address(node: NodeApi, broker_id: int, listener: str) -> Endpoint | None:
    """Where a client of that listener reaches the broker."""
    broker = node.image.brokers.get(broker_id)
    return broker.endpoint(listener) if broker is not None else None
