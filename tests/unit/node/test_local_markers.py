"""Markers on partitions of this node: what is not open yet is not gone."""

from __future__ import annotations

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.node.markers import LocalMarkers
from tapelog.sim.client import SimClient
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.node import SimNode
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest


def test_a_partition_that_the_image_names_but_nobody_opened_yet_is_not_taken_for_deleted() -> None:
    node = SimNode(SimEntropy(1), SimClock())
    node.boot()
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    SimClient(node).call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 5)
    assert node.core is not None
    del node.core.topics["t"]
    marker = TxnMarker(1, 0, 0, True, 2)
    told: dict[tuple[str, int], ErrorCode] = {}
    LocalMarkers(node.core).write(marker, [("t", 0), ("gone", 0)], told.update)
    assert told == {
        ("t", 0): ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ("gone", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
