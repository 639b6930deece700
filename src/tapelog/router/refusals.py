"""What a client is told when the coordinator of its group or transaction cannot be reached: NOT_COORDINATOR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.wire.catalog import response_class
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from tapelog.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tapelog.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

CODE = int(ErrorCode.NOT_COORDINATOR)


def refusing(api_key: int) -> Callable[[Any], Message]:
    """From a request of this API to the answer that says NOT_COORDINATOR, in whatever way the API says it."""
    made = response_class(api_key)

    def refuse(request: Any) -> Message:
        response: Any = made()
        if isinstance(response, OffsetCommitResponse):
            response.topics = [
                OffsetCommitResponseTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[OffsetCommitResponsePartition(part.partition_index, CODE) for part in topic.partitions],
                )
                for topic in request.topics
            ]
        elif isinstance(response, TxnOffsetCommitResponse):
            response.topics = [
                TxnOffsetCommitResponseTopic(
                    topic.name,
                    [TxnOffsetCommitResponsePartition(part.partition_index, CODE) for part in topic.partitions],
                )
                for topic in request.topics
            ]
        else:
            response.error_code = CODE
            if isinstance(response, AddPartitionsToTxnResponse):
                response.results_by_topic_v3_and_below = [
                    AddPartitionsToTxnTopicResult(
                        topic.name, [AddPartitionsToTxnPartitionResult(part, CODE) for part in topic.partitions]
                    )
                    for topic in request.v3_and_below_topics
                ]
        assert isinstance(response, Message)
        return response

    return refuse
