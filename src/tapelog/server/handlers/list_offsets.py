"""ListOffsets, versions 1 to 11: earliest, latest, by time, the record with the largest timestamp, and the newer
specials.

"Latest" is the high watermark, or the last stable offset for read_committed. Without tiered storage the local log is
the whole log, so EARLIEST_LOCAL is the start offset, and nothing is tiered or waits to be.
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
                _find(partition, wanted, request.isolation_level == _READ_COMMITTED, part)
            except KafkaError as error:
                part.error_code = int(error.code)
            if call.version < _EPOCH_SINCE:
                part.leader_epoch = -1
    call.reply(response)


def _find(
    partition: Partition, wanted: ListOffsetsPartition, committed: bool, part: ListOffsetsPartitionResponse
) -> None:
    log, upper = partition.log, partition.high_watermark
    if committed:
        upper = log.last_stable_offset(upper)
    if wanted.timestamp == LATEST:
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
