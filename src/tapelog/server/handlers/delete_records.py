"""DeleteRecords, versions 0 to 2: move a partition's start; -1 means its high watermark.

Refused on topics that are only compacted or under a hold (POLICY_VIOLATION) and beyond the high watermark
(OFFSET_OUT_OF_RANGE). The new start is on disk before the answer leaves, and the answer waits until every follower
that is there has let go, too; those that have not by the request's timeout make it REQUEST_TIMED_OUT, though the
records are gone here.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Disk
from tapelog.base.timers import Timer
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import FetchWaiter
from tapelog.server.call import Call
from tapelog.server.handlers.lookup import leader_of
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.delete_records_request import DeleteRecordsRequest
from tapelog.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

TIMEOUT_MS_MAX: Final = 300_000


class PendingDelete(FetchWaiter):
    """A request whose starts have moved here, and perhaps not yet on all followers."""

    def __init__(self, node: NodeApi, call: Call, response: DeleteRecordsResponse) -> None:
        super().__init__()
        self.node = node
        self.call = call
        self.response = response
        self.timer: Timer | None = None
        self.waiting: list[tuple[Partition, int, DeleteRecordsPartitionResult]] = []
        """Partitions, where they shall begin, and their part of the answer."""

    def without(self, unwritten: list[Disk]) -> None:
        """On these disks the new starts are not: only partitions that are there fail."""
        waiting, self.waiting = self.waiting, []
        for partition, offset, part in waiting:
            if any(disk is partition.log.disk for disk in unwritten):
                part.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
                part.low_watermark = -1
            else:
                self.waiting.append((partition, offset, part))

    def start(self, timeout_ms: int) -> None:
        """Answer now, or when the followers have followed."""
        self.retry()
        if self.waiting:
            self.call.abandoned = self._forget
            wait_ms = max(0, min(timeout_ms, TIMEOUT_MS_MAX))
            self.timer = self.node.timers.after(wait_ms, self.expired)

    def retry(self) -> None:
        """Some follower has moved its start, or the partition has another role."""
        self.ripe = False
        if self.call.done:
            return
        waiting, self.waiting = self.waiting, []
        for partition, offset, part in waiting:
            if partition.closed or not partition.leading:
                part.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                part.low_watermark = -1
                partition.remove_low_waiter(self)
            elif partition.low_watermark() >= offset:
                part.low_watermark = partition.low_watermark()
                partition.remove_low_waiter(self)
            else:
                partition.add_low_waiter(self)
                self.waiting.append((partition, offset, part))
        if not self.waiting:
            self._reply()

    def expired(self) -> None:
        """The request's time is over."""
        if self.call.done:
            return
        for _, _, part in self.waiting:
            part.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
        self._reply()

    def _reply(self) -> None:
        self._forget()
        self.call.reply(self.response)

    def _forget(self) -> None:
        for partition, _, _ in self.waiting:
            partition.remove_low_waiter(self)
        self.waiting = []
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def handle(node: NodeApi, call: Call, request: DeleteRecordsRequest) -> None:
    """Advance the start offsets asked for."""
    response = DeleteRecordsResponse()
    pending = PendingDelete(node, call, response)
    for topic in request.topics:
        answer = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(answer)
        for wanted in topic.partitions:
            part = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
            answer.partitions.append(part)
            try:
                partition = leader_of(node, topic.name, wanted.partition_index)
                offset = _delete(partition, wanted.offset)
            except KafkaError as error:
                part.error_code = int(error.code)
                continue
            part.low_watermark = partition.log.start_offset
            pending.waiting.append((partition, offset, part))

    def written(unwritten: list[Disk]) -> None:
        pending.without(unwritten)
        pending.start(request.timeout_ms)

    node.start_offsets_moved(written)


def _delete(partition: Partition, offset: int) -> int:
    """Move the start here; where it was asked to be."""
    if not partition.log.config.delete:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{partition.topic} is compacted: its records go by key")
    if partition.log.config.hold:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{partition.topic} is under a hold (tapelog.tier.hold)")
    if offset == -1:
        offset = partition.high_watermark
    if offset < 0 or offset > partition.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "")
    if offset > partition.log.start_offset:
        partition.log.increment_start_offset(offset)
        partition.wake_fetches()
    return offset
