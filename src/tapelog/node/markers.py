"""Transaction markers on the partitions that this node leads.

The transaction coordinator writes its markers through this, and WriteTxnMarkers those of other nodes' coordinators.
Offsets belong to the group coordinator, which must replay what a marker decides; everywhere else the marker is appended
to the partition. Promises one answer, when every marker is committed or has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import AppendWaiter
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError

Key = tuple[str, int]

OFFSETS_TOPIC: Final = "__consumer_offsets"
STATE_TOPIC: Final = "__transaction_state"
_NOT_READY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class PendingMarkers(AppendWaiter):
    """One marker on its way to several partitions."""

    def __init__(self, keys: list[Key], deadline_ms: int, done: Callable[[dict[Key, ErrorCode]], None]) -> None:
        self.keys = keys
        self.deadline_ms = deadline_ms
        self._done = done
        self._codes: dict[Key, ErrorCode] = {}
        self._missing = len(keys)

    def committed(self, index: int) -> None:
        """The marker is safe in one partition."""
        self.tell(index, ErrorCode.NONE)

    def failed(self, index: int, code: int) -> None:
        """The marker did not make it into one partition."""
        self.tell(index, ErrorCode(code))

    def overdue(self, now_ms: int) -> bool:
        """The disk has taken longer than a request may."""
        return self.deadline_ms <= now_ms

    def tell(self, index: int, code: ErrorCode) -> None:
        """What became of the marker in the partition of that index; the last one ends the wait."""
        self._codes[self.keys[index]] = code
        self._missing -= 1
        if self._missing == 0:
            self._done({key: self._codes[key] for key in self.keys})


class LocalMarkers:
    """Implements `coordinators.transactions.marker.MarkerWriter` on this node's partitions."""

    def __init__(self, node: NodeApi) -> None:
        self.node = node

    def write(self, marker: TxnMarker, partitions: list[Key], done: Callable[[dict[Key, ErrorCode]], None]) -> None:
        """Write the marker to each partition; done gets a code per partition once all are committed or failed."""
        keys = list(dict.fromkeys(partitions))
        if not keys:
            done({})
            return
        node = self.node
        pending = PendingMarkers(keys, node.hub.now_ms + node.setting_int("request.timeout.ms"), done)
        kept = self._kept()
        for index, key in enumerate(keys):
            try:
                self._write_one(marker, key, pending, index, kept)
            except KafkaError as error:
                pending.tell(index, error.code)

    def _write_one(self, marker: TxnMarker, key: Key, pending: PendingMarkers, index: int, kept: bool) -> None:
        partition = self._partition(key)
        if key[0] == OFFSETS_TOPIC:
            partition.log.producers.check_marker(
                marker.producer_id, marker.producer_epoch, marker.coordinator_epoch, marker.transaction_version
            )
            self.node.groups.runtime.end_transaction(
                key[1],
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.commit,
                lambda _: pending.tell(index, ErrorCode.NONE),
                lambda code: pending.tell(index, ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NOT_READY else code),
                marker.transaction_version,
            )
            return
        appended = partition.append_marker(
            marker.producer_id,
            marker.producer_epoch,
            marker.commit,
            marker.coordinator_epoch,
            marker.transaction_version,
        )
        if kept:
            partition.park_marker(appended.last_offset + 1, pending, index)
        else:
            partition.park(appended.last_offset + 1, pending, index)

    def _kept(self) -> bool:
        """Whether what the transaction coordinator writes is on disk when it counts. Only then would it be sure of a
        marker that a power cut takes back; a broker that leaves everything to the page cache promises no more."""
        state = self.node.topics.get(STATE_TOPIC)
        return state is None or not any(led is not None and led.page_cache for led in state.partitions)

    def _partition(self, key: Key) -> Partition:
        topic, index = key
        state = self.node.topics.get(topic)
        if self.node.image.partition(topic, index) is not None and (state is None or index >= len(state.partitions)):
            # not gone but not opened yet: a node that starts opens its partitions piece by piece
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not open here yet")
        if state is None or not 0 <= index < len(state.partitions) or (state.internal and topic != OFFSETS_TOPIC):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} takes no markers here")
        found = state.partitions[index]
        if found is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not held here")
        if found.offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {topic}-{index} is offline")
        if found.closed or not found.leading:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not led here any more")
        return found
