"""DeleteRecords, versions 0 to 2: move a partition's start; -1 means its high watermark.

Refused on topics that are only compacted (POLICY_VIOLATION) and beyond the high watermark (OFFSET_OUT_OF_RANGE).
The new start is on disk before the answer leaves.
"""

from __future__ import annotations

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


def handle(node: NodeApi, call: Call, request: DeleteRecordsRequest) -> None:
    """Advance the start offsets asked for."""
    response = DeleteRecordsResponse()
    for topic in request.topics:
        answer = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(answer)
        for wanted in topic.partitions:
            part = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
            answer.partitions.append(part)
            try:
                part.low_watermark = _delete(node, topic.name, wanted.partition_index, wanted.offset)
            except KafkaError as error:
                part.error_code = int(error.code)

    def written(error: KafkaError | None) -> None:
        if error is not None:
            for topic in response.topics:
                for part in topic.partitions:
                    part.error_code = part.error_code or int(error.code)
        call.reply(response)

    node.start_offsets_moved(written)


def _delete(node: NodeApi, topic: str, index: int, offset: int) -> int:
    partition = leader_of(node, topic, index)
    if not partition.log.config.delete:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted: its records go by key")
    if offset == -1:
        offset = partition.high_watermark
    if offset < 0 or offset > partition.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "")
    if offset > partition.log.start_offset:
        partition.log.increment_start_offset(offset)
        partition.wake_fetches()
    return partition.log.start_offset
