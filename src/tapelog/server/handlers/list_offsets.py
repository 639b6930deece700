"""ListOffsets, versions 1 to 11: earliest, latest, by time, the record with the largest timestamp, and the newer
specials.

"Latest" is the high watermark, or the last stable offset for read_committed; for a follower it is the log's end. A new
leader that cannot say yet what its predecessor has committed answers OFFSET_NOT_AVAILABLE instead of going back in
time. Without tiered storage the local log is the whole log, so EARLIEST_LOCAL is the start offset, and nothing is
tiered or waits to be.
"""

from __future__ import annotations

from typing import Final

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
    """Answer every partition on its own."""
    response = ListOffsetsResponse()
    for topic in request.topics:
        answer = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answer)
        for wanted in topic.partitions:
            part = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
            answer.partitions.append(part)
            try:
                if wanted.timestamp < EARLIEST and _SINCE.get(wanted.timestamp, 99) > call.version:
                    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "")
                partition = leader_of(node, topic.name, wanted.partition_index, wanted.current_leader_epoch)
                if request.replica_id >= 0:
                    _find(partition, wanted, partition.log.written_end, True, part)
                else:
                    _find(partition, wanted, _readable(partition, request), partition.high_watermark_is_known, part)
            except KafkaError as error:
                part.error_code = int(error.code)
            if part.error_code == _NOT_AVAILABLE and call.version < _NOT_AVAILABLE_SINCE:
                part.error_code = int(ErrorCode.LEADER_NOT_AVAILABLE)
            if call.version < _EPOCH_SINCE:
                part.leader_epoch = -1
    call.reply(response)


def _readable(partition: Partition, request: ListOffsetsRequest) -> int:
    """Where a consumer of this isolation level stops reading."""
    upper = partition.high_watermark
    return partition.log.last_stable_offset(upper) if request.isolation_level == _READ_COMMITTED else upper


def _find(
    partition: Partition, wanted: ListOffsetsPartition, upper: int, known: bool, part: ListOffsetsPartitionResponse
) -> None:
    """known: upper is no less than what consumers may have been told before."""
    log = partition.log
    if wanted.timestamp == LATEST:
        if not known:
            raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "")
        part.offset, part.leader_epoch = upper, partition.leader_epoch
        return
    if wanted.timestamp in (EARLIEST, EARLIEST_LOCAL):
        part.offset = log.start_offset
        part.leader_epoch = log.leader_epoch_cache.epoch_for(log.start_offset)
        return
    if wanted.timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return
    found = (
        log.max_timestamp_offset() if wanted.timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(wanted.timestamp)
    )
    if found is not None and found[1] < upper:
        part.timestamp, part.offset, part.leader_epoch = found
    elif found is not None and not known:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "")
