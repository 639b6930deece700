"""The coordinators of one node: which internal topic each of them lives on, and what they are told about it.

The node core says when partitions of those topics are led, committed, or took appends back; each of them is a runtime
that knows nothing of the others. They meet in two places: the group coordinator asks the transaction coordinator before
it takes offsets within a transaction, and the transaction coordinator's markers end them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from tapelog.coordinators.core import Runtime
from tapelog.coordinators.groups import GroupCoordinator
from tapelog.coordinators.transactions.coordinator import TransactionCoordinator
from tapelog.node.cluster_markers import ClusterMarkers
from tapelog.node.coordinator_log import ImageOverrides, ImageTopics, InternalTopicLog
from tapelog.node.gate import ClusterGate
from tapelog.replication.partition import Partition
from tapelog.wire.errors import ErrorCode

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

OFFSETS_TOPIC: Final = "__consumer_offsets"
STATE_TOPIC: Final = "__transaction_state"


class Coordinators:
    """All coordinators, and their runtimes by topic."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        topics = ImageTopics(node)
        static = node.settings.static
        offsets_log = InternalTopicLog(node, OFFSETS_TOPIC)
        overrides = ImageOverrides(node)
        self.groups = GroupCoordinator(offsets_log, node.timers, node.entropy, topics, static, overrides)
        self.transactions = TransactionCoordinator(
            InternalTopicLog(node, STATE_TOPIC),
            node.timers,
            ClusterMarkers(node),
            node.next_producer_id,
            topics.partition_count,
            self.groups.partition_for,
            static,
        )
        self.gate = ClusterGate(node)
        self.groups.gate = self.gate
        self.runtimes: dict[str, Runtime[Any]] = {
            OFFSETS_TOPIC: self.groups.runtime,
            STATE_TOPIC: self.transactions.runtime,
        }

    def flush(self) -> None:
        """The wake-up ends: append what was decided, give the answers that are due."""
        for runtime in self.runtimes.values():
            runtime.flush()

    @property
    def busy(self) -> bool:
        """Whether flush has work."""
        return self.groups.runtime.busy or self.transactions.runtime.busy

    def elect(self, names: Collection[str]) -> None:
        """The partitions of these topics that this node leads are its to coordinate, if any of us lives there."""
        for name, runtime in self.runtimes.items():
            state = self.node.topics.get(name) if name in names else None
            for partition in state.partitions if state is not None else []:
                if partition is not None and partition.leading:
                    runtime.on_elected(partition.index, partition.leader_epoch)

    def resign(self, names: Collection[str]) -> None:
        """Not any more."""
        for name, runtime in self.runtimes.items():
            if name in names:
                for index in runtime.partitions():
                    runtime.on_resigned(index)

    def led(self, partition: Partition) -> None:
        """This node leads the partition, in a new leader epoch."""
        runtime = self.runtimes.get(partition.topic)
        if runtime is not None:
            runtime.on_elected(partition.index, partition.leader_epoch)

    def lost(self, partition: Partition) -> None:
        """It does not any more: whoever waits hears NOT_COORDINATOR."""
        runtime = self.runtimes.get(partition.topic)
        if runtime is not None:
            runtime.on_resigned(partition.index)

    def committed(self, partition: Partition) -> None:
        """The high watermark of a partition moved."""
        self.runtimes[partition.topic].on_high_watermark(partition.index, partition.high_watermark)

    def taken_back(self, partition: Partition) -> None:
        """Appends that had been accepted could not be written."""
        runtime = self.runtimes.get(partition.topic)
        if runtime is not None:
            runtime.on_append_failed(partition.index, partition.log.end_offset, ErrorCode.KAFKA_STORAGE_ERROR)
