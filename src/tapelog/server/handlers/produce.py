"""Produce, versions 3 to 13 (advertised from 0, which librdkafka needs to see before it compresses).

Every partition's batch is validated and queued at once, which fixes its order; the answer is parked until all of them
are as durable as `acks` asks (0: no answer; 1: on the leader's disk; -1: on every in-sync replica's). With acks=0 an
error closes the connection, the only way a client can learn of it. From version 13 topics are named by id. Requests
with a transactional id are `produce_transactional`'s.
"""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.handlers import produce_transactional
from tapelog.server.handlers.produce_batch import PendingProduce, append_batch, looks_right, no_batch, partition_for
from tapelog.server.node_api import NodeApi, TopicState
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest
from tapelog.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tapelog.wire.primitives import Slice


def handle(node: NodeApi, call: Call, request: ProduceRequest) -> None:
    """Append every batch; answer when they are committed."""
    response = ProduceResponse()
    pending = PendingProduce(call, response)
    pending.acks = request.acks
    pending.deadline_ms = node.hub.now_ms + request.timeout_ms
    if request.transactional_id is not None:
        produce_transactional.start(node, call, request, pending)
        return
    for topic in request.topic_data:
        if call.version >= 13:
            state = node.topics_by_id.get(topic.topic_id)
        else:
            state = node.topics.get(topic.name)
        answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answer)
        for data in topic.partition_data:
            part = PartitionProduceResponse(index=data.index, error_code=0, base_offset=-1)
            answer.partition_responses.append(part)
            _append(state, data, pending, part, call.version)
    pending.started = True
    if pending.waiting == 0:
        pending.finish()


def _append(
    state: TopicState | None,
    data: PartitionProduceData,
    pending: PendingProduce,
    part: PartitionProduceResponse,
    version: int,
) -> None:
    slot = len(pending.partitions)
    pending.partitions.append(part)
    partition = partition_for(state, data, pending, part)
    if partition is None:
        return
    records = data.records
    if not isinstance(records, Slice) or not looks_right(records, version, False, part):
        no_batch(part)
        return
    append_batch(partition, records, pending, part, slot)
