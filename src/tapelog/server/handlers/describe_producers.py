"""DescribeProducers, version 0: what a partition's leader remembers of its producers, and which have a transaction
open. With it, tools find transactions that hang."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.handlers.lookup import leader_of
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.describe_producers_request import DescribeProducersRequest
from tapelog.wire.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(node: NodeApi, call: Call, request: DescribeProducersRequest) -> None:
    """Answer every partition on its own."""
    response = DescribeProducersResponse()
    for topic in request.topics:
        answer = TopicResponse(name=topic.name)
        response.topics.append(answer)
        for index in topic.partition_indexes:
            part = PartitionResponse(partition_index=index)
            answer.partitions.append(part)
            try:
                entries = leader_of(node, topic.name, index).log.producers.entries
            except KafkaError as error:
                part.error_code = int(error.code)
                part.error_message = error.message or None
                continue
            part.active_producers = [
                ProducerState(
                    producer_id=entry.producer_id,
                    producer_epoch=entry.epoch,
                    last_sequence=entry.last_sequence(),
                    last_timestamp=entry.last_timestamp,
                    coordinator_epoch=entry.coordinator_epoch,
                    current_txn_start_offset=entry.txn_first_offset,
                )
                for entry in entries.values()
            ]
    call.reply(response)
