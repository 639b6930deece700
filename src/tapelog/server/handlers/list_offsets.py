"""ListOffsets, versions 1 to 11: earliest, latest, by time, the record with the largest timestamp, and the newer
specials.

"Latest" is the high watermark, or the last stable offset for read_committed; for a follower it is the log's end. A new
leader that cannot say yet what its predecessor has committed answers OFFSET_NOT_AVAILABLE instead of going back in
time. EARLIEST is where the whole log begins, EARLIEST_LOCAL where it begins on this node; a look-up by time covers the
whole, and waits for the tier where only that can tell, up to `remote.list.offsets.request.timeout.ms`.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timer
from tapelog.log.log import Log
from tapelog.log.tier.pieces import Awaited, NotHereError
from tapelog.log.timestamps import Found
from tapelog.replication.partition import Partition
from tapelog.server.call import Call
from tapelog.server.handlers.lookup import leader_of
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_READ_COMMITTED: Final = 1
_EPOCH_SINCE: Final = 4
_NOT_AVAILABLE_SINCE: Final = 5
_NOT_AVAILABLE: Final = int(ErrorCode.OFFSET_NOT_AVAILABLE)


def handle(node: NodeApi, call: Call, request: ListOffsetsRequest) -> None:
    """Answer every partition on its own, together when all are answered."""
    asked = Asked(node, call, request)
    for topic in request.topics:
        answer = ListOffsetsTopicResponse(name=topic.name)
        asked.response.topics.append(answer)
        for wanted in topic.partitions:
            part = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
            answer.partitions.append(part)
            asked.open.append(Question(asked, topic.name, wanted, part))
    asked.begin()


class Asked:
    """One request: the partitions that are not answered yet."""

    def __init__(self, node: NodeApi, call: Call, request: ListOffsetsRequest) -> None:
        self.node = node
        self.call = call
        self.request = request
        self.response = ListOffsetsResponse()
        self.open: list[Question] = []
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Ask everywhere; wait for those who do not know yet."""
        for question in list(self.open):
            question.tier_moved()
        if self.open:
            self.call.abandoned = self.leave
            wait_ms = self.node.setting_int("remote.list.offsets.request.timeout.ms")
            self._timer = self.node.timers.after(wait_ms, self.give_up)
        else:
            self.call.reply(self.response)

    def answered(self, question: Question) -> None:
        """One less."""
        self.open.remove(question)
        if not self.open and self._timer is not None:
            self._timer.cancel()
            self.call.reply(self.response)

    def give_up(self) -> None:
        """The tier is too slow."""
        for question in list(self.open):
            question.part.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
            question.end()

    def leave(self) -> None:
        """Nobody is there any more to be told."""
        if self._timer is not None:
            self._timer.cancel()
        for question in self.open:
            question.leave()


class Question:
    """What one partition is asked for."""

    def __init__(
        self, asked: Asked, topic: str, wanted: ListOffsetsPartition, part: ListOffsetsPartitionResponse
    ) -> None:
        self.asked = asked
        self.topic = topic
        self.wanted = wanted
        self.part = part
        self._waits_for: Awaited | None = None

    def tier_moved(self) -> None:
        """Look, from the beginning: a while may have passed since the last time."""
        asked, wanted, part = self.asked, self.wanted, self.part
        partition: Partition | None = None
        try:
            if wanted.timestamp < EARLIEST and _SINCE.get(wanted.timestamp, 99) > asked.call.version:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "")
            partition = leader_of(asked.node, self.topic, wanted.partition_index, wanted.current_leader_epoch)
            if asked.request.replica_id >= 0:
                _find(asked.node, partition, wanted.timestamp, partition.log.written_end, True, part)
            else:
                upper, known = _readable(partition, asked.request), partition.high_watermark_is_known
                _find(asked.node, partition, wanted.timestamp, upper, known, part)
        except NotHereError as missing:
            self._waits_for = missing.piece
            missing.piece.waiters[self] = None
            return
        except KafkaError as error:
            part.error_code = int(error.code)
        except DiskError as failure:
            part.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
            if partition is not None:
                asked.node.disk_failed(partition, failure)
        self.end()

    def end(self) -> None:
        """It is answered."""
        version, part = self.asked.call.version, self.part
        self.leave()
        if part.error_code == _NOT_AVAILABLE and version < _NOT_AVAILABLE_SINCE:
            part.error_code = int(ErrorCode.LEADER_NOT_AVAILABLE)
        if version < _EPOCH_SINCE:
            part.leader_epoch = -1
        self.asked.answered(self)

    def leave(self) -> None:
        """Wait for nothing any more."""
        if self._waits_for is not None:
            self._waits_for.waiters.pop(self, None)
            self._waits_for = None


def _readable(partition: Partition, request: ListOffsetsRequest) -> int:
    """Where a consumer of this isolation level stops reading."""
    upper = partition.high_watermark
    return partition.log.last_stable_offset(upper) if request.isolation_level == _READ_COMMITTED else upper


def _find(
    node: NodeApi, partition: Partition, timestamp: int, upper: int, known: bool, part: ListOffsetsPartitionResponse
) -> None:
    """known: upper is no less than what consumers may have been told before."""
    log = partition.log
    if timestamp == LATEST:
        if not known:
            raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "")
        part.offset, part.leader_epoch = upper, partition.leader_epoch
    elif timestamp == EARLIEST:
        _tell(log, log.start_offset, part)
    elif timestamp == EARLIEST_LOCAL:
        _tell(log, log.local_start_offset, part)
    elif timestamp == LATEST_TIERED:
        if log.config.remote and log.tiered_end > 0:
            _tell(log, log.tiered_end - 1, part)
    elif timestamp == EARLIEST_PENDING_UPLOAD:
        if log.config.remote:
            _tell(log, max(log.tiered_end, log.local_start_offset), part)
    else:
        found = _by_time(node, partition, timestamp)
        if found is not None and found[1] < upper:
            part.timestamp, part.offset, part.leader_epoch = found
        elif found is not None and not known:
            raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "")


def _tell(log: Log, offset: int, part: ListOffsetsPartitionResponse) -> None:
    part.offset = offset
    part.leader_epoch = log.leader_epoch_cache.epoch_for(offset)


def _by_time(node: NodeApi, partition: Partition, timestamp: int) -> Found | None:
    log = partition.log
    if log.local_start_offset == log.start_offset:
        return log.max_timestamp_offset() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    reads = node.tier_reads
    if reads is None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "this node has no tier")
    if timestamp == MAX_TIMESTAMP:
        return reads.greatest(partition)
    return reads.first_at_or_after(partition, timestamp)
