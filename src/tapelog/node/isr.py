"""The in-sync replicas of what this node leads: asks the controller for changes, and looks after them by the clock.

Partitions decide whom they want (`hub.isr_changes`); here the questions of a wake-up become one AlterPartition, one
request at a time, and its answers find their way back. A question is asked until it is answered or the image has made
it void. By the clock, followers that lag are found and appends that have waited too long are told so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.replication.isr import IsrChange
from tapelog.replication.partition import Partition
from tapelog.replication.selector import nearest
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from tapelog.wire.messages.alter_partition_response import AlterPartitionResponse

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore
    from tapelog.node.forwarding import Errand

log = logging.getLogger("tapelog.node")

VERSION: Final = 3
TIMEOUT_MS: Final = 30_000
RETRY_MS: Final = 50
TICK_MS: Final = 250
PARTITIONS_PER_REQUEST_MAX: Final = 5_000
RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

Asked = tuple[Partition, IsrChange]


class IsrUpdates:
    """One node's AlterPartition machine."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._under_way: dict[tuple[bytes, int], Asked] = {}
        self._errand: Errand | None = None
        self._checked_ms = 0
        self._resting = False
        self._stopped = False
        self._racks: dict[int, str] = {}

    def start(self) -> None:
        """Begin to watch the clock; called once, when the partitions are open."""
        node = self.node
        node.hub.lag_ms_max = node.setting_int("replica.lag.time.max.ms")
        node.rack_aware = (node.metadata.layers.text("replica.selector.class") or "").endswith(
            "RackAwareReplicaSelector"
        )
        self._checked_ms = node.clock.monotonic_ms()
        self.brokers_changed()
        node.timers.after(TICK_MS, self._tick)

    def stop(self) -> None:
        """Nothing more is asked."""
        self._stopped = True

    def brokers_changed(self) -> None:
        """The image has other brokers, or other epochs of them: who may enter an ISR has changed with that."""
        node, alive = self.node, {}
        for id, broker in node.image.brokers.items():
            if broker.active:
                alive[id] = broker.epoch
        node.hub.alive = alive
        self._racks = {
            id: broker.rack for id, broker in node.image.brokers.items() if broker.rack is not None and id in alive
        }
        now_ms = node.clock.monotonic_ms()
        for partition in list(node.hub.replicated):
            partition.brokers_changed(now_ms)

    def nearest(self, partition: Partition, offset: int, rack: str) -> int:
        """See `NodeApi.nearest_replica`."""
        return nearest(partition, offset, rack, self._racks)

    def flush(self) -> None:
        """End of a wake-up: send what is wanted, unless an earlier request is under way."""
        hub = self.node.hub
        if not hub.isr_changes or self._under_way or self._resting or self._stopped:
            return
        queued, hub.isr_changes = hub.isr_changes, []
        for number, partition in enumerate(queued):
            if len(self._under_way) >= PARTITIONS_PER_REQUEST_MAX:
                hub.isr_changes += queued[number:]
                break
            change = partition.leadership.in_sync.asked if partition.leadership is not None else None
            if change is not None and not partition.closed:
                self._under_way[partition.topic_id, partition.index] = (partition, change)
        if self._under_way:
            errand = self.node.remote.to_controller(self._request(), VERSION, TIMEOUT_MS, self._answered)
            self._errand = errand

    def _request(self) -> AlterPartitionRequest:
        topics: dict[bytes, TopicData] = {}
        for (topic_id, index), (_, change) in self._under_way.items():
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            topic.partitions.append(
                PartitionData(
                    partition_index=index,
                    leader_epoch=change.leader_epoch,
                    partition_epoch=change.partition_epoch,
                    new_isr_with_epochs=[BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in change.isr],
                )
            )
        node = self.node
        return AlterPartitionRequest(
            broker_id=node.node_id, broker_epoch=node.metadata.broker_epoch, topics=list(topics.values())
        )

    def _answered(self, response: Message | KafkaError) -> None:
        under_way, self._under_way = self._under_way, {}
        for _, change in under_way.values():
            change.copies += 1 if self._errand is None else self._errand.attempts
        self._errand = None
        if isinstance(response, KafkaError):
            code = response.code
        else:
            assert isinstance(response, AlterPartitionResponse)
            code = ErrorCode(response.error_code)
        again: list[Partition] = []
        if isinstance(response, AlterPartitionResponse) and code == ErrorCode.NONE:
            again = self._apply(under_way, response)
        else:  # nothing of it was looked at: our epoch is old, or nobody was there to look
            again = [partition for partition, change in under_way.values() if _wants(partition, change)]
        if again:
            log.debug("%d changes of in-sync replicas are asked for again (%s)", len(again), code.name)
            self.node.hub.isr_changes += again
            self._resting = True
            self.node.timers.after(RETRY_MS, self._rested)
        self.flush()

    def _apply(self, under_way: dict[tuple[bytes, int], Asked], response: AlterPartitionResponse) -> list[Partition]:
        """Hand the answers out; returns the partitions whose question must be asked again."""
        now_ms = self.node.clock.monotonic_ms()
        again: list[Partition] = []
        for topic in response.topics:
            for answer in topic.partitions:
                asked = under_way.pop((topic.topic_id, answer.partition_index), None)
                if asked is None:
                    continue
                partition, change = asked
                if answer.error_code == 0 and answer.leader_epoch == change.leader_epoch:
                    partition.isr_agreed(change, tuple(answer.isr), answer.partition_epoch, now_ms)
                elif answer.error_code and partition.isr_refused(change, answer.error_code, now_ms):
                    again.append(partition)
        return again + [partition for partition, change in under_way.values() if _wants(partition, change)]

    def _rested(self) -> None:
        self._resting = False
        self.flush()

    def _tick(self) -> None:
        if self._stopped:
            return
        node = self.node
        now_ms = node.clock.monotonic_ms()
        look = now_ms - self._checked_ms >= node.hub.lag_ms_max // 2
        if look:
            self._checked_ms = now_ms
        for partition in list(node.hub.replicated):
            if look:
                partition.check_isr(now_ms)
            partition.hurry(now_ms)
            partition.expire_parked(now_ms - TICK_MS)
        node.timers.after(TICK_MS, self._tick)


def _wants(partition: Partition, change: IsrChange) -> bool:
    return partition.leadership is not None and partition.leadership.in_sync.asked is change
