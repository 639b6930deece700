"""OffsetForLeaderEpoch, versions 2 to 4: where a leader epoch ended, so that a reader can notice a truncated log."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.handlers.lookup import leader_of
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from tapelog.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


def handle(node: NodeApi, call: Call, request: OffsetForLeaderEpochRequest) -> None:
    """Answer from each partition's epoch cache."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answer = OffsetForLeaderTopicResult(topic=topic.topic)
        response.topics.append(answer)
        for wanted in topic.partitions:
            part = EpochEndOffset(partition=wanted.partition)
            answer.partitions.append(part)
            try:
                partition = leader_of(node, topic.topic, wanted.partition, wanted.current_leader_epoch)
                part.leader_epoch, part.end_offset = partition.epoch_end_offset(wanted.leader_epoch)
            except KafkaError as error:
                part.error_code = int(error.code)
    call.reply(response)
