"""Produce, versions 3 to 13 (advertised from 0, which librdkafka needs to see before it compresses).

Every partition's batch is validated and queued at once, which fixes its order; the answer is parked until all of them
are as durable as `acks` asks (0: no answer; 1: on the leader's disk; -1: on every in-sync replica's). With acks=0 an
error closes the connection, the only way a client can learn of it. From version 13 topics are named by id.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.partition import ORIGIN_CLIENT, Partition
from tapelog.replication.waiting import AppendWaiter
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi, TopicState
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest
from tapelog.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tapelog.wire.primitives import Slice

_NONE: Final = 0
_UNKNOWN_TOPIC: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_UNKNOWN_ID: Final = int(ErrorCode.UNKNOWN_TOPIC_ID)
_INVALID_ACKS: Final = int(ErrorCode.INVALID_REQUIRED_ACKS)
_INVALID_TOPIC: Final = int(ErrorCode.INVALID_TOPIC_EXCEPTION)
_INVALID_RECORD: Final = int(ErrorCode.INVALID_RECORD)
_NOT_ENOUGH: Final = int(ErrorCode.NOT_ENOUGH_REPLICAS)
_STORAGE: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_HEADER_BYTES: Final = 61
_MAGIC: Final = 16
_ATTRIBUTES_LOW: Final = 22
_TRANSACTIONAL_BIT: Final = 0x10
_CODEC_BITS: Final = 7
_ZSTD: Final = 4


class PendingProduce(AppendWaiter):
    """A produce request whose batches are in the log and not yet all committed."""

    def __init__(self, call: Call, response: ProduceResponse) -> None:
        self.call = call
        self.response = response
        self.partitions: list[PartitionProduceResponse] = []
        self.waiting = 0
        self.started = False
        self.acks = -1
        self.deadline_ms = 0

    def committed(self, index: int) -> None:
        """One batch is safe."""
        self.waiting -= 1
        if self.waiting == 0 and self.started:
            self.call.reply(self.response)

    def failed(self, index: int, code: int) -> None:
        """One batch did not make it."""
        part = self.partitions[index]
        part.error_code = code
        part.base_offset = -1
        part.log_append_time_ms = -1
        self.committed(index)

    def overdue(self, now_ms: int) -> bool:
        """The request's own timeout is over."""
        return self.deadline_ms <= now_ms


def handle(node: NodeApi, call: Call, request: ProduceRequest) -> None:
    """Append every batch; answer when they are committed."""
    response = ProduceResponse()
    pending = PendingProduce(call, response)
    acks = request.acks
    pending.acks = acks
    pending.deadline_ms = node.hub.now_ms + request.timeout_ms
    failed = False
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
            if not _append(node, state, data, acks, pending, part, call.version):
                failed = True
    if acks == 0:
        if failed:
            code = next(p.error_code for p in pending.partitions if p.error_code)
            call.refuse(f"a Produce with acks=0 failed with {ErrorCode(code).name}")
        else:
            call.reply_nothing()
        return
    pending.started = True
    if pending.waiting == 0:
        call.reply(response)


def _append(
    node: NodeApi,
    state: TopicState | None,
    data: PartitionProduceData,
    acks: int,
    pending: PendingProduce,
    part: PartitionProduceResponse,
    version: int,
) -> bool:
    slot = len(pending.partitions)
    pending.partitions.append(part)
    if acks < -1 or acks > 1:
        part.error_code = _INVALID_ACKS
        return False
    if state is None:
        part.error_code = _UNKNOWN_ID if version >= 13 else _UNKNOWN_TOPIC
        return False
    if state.internal:
        part.error_code = _INVALID_TOPIC
        part.error_message = f"{state.name} is internal: only the coordinators write to it"
        return False
    index = data.index
    partition = state.partitions[index] if 0 <= index < len(state.partitions) else None
    if partition is None:
        part.error_code = _UNKNOWN_TOPIC
        return False
    records = data.records
    if not isinstance(records, Slice) or not _looks_right(records, version, part):
        if not part.error_code:
            part.error_code = _INVALID_RECORD
            part.error_message = "a Produce must carry exactly one record batch per partition"
        return False
    return _append_batch(partition, records, acks, pending, part, slot)


def _looks_right(records: Slice, version: int, part: PartitionProduceResponse) -> bool:
    """What can be told from a few bytes; the log looks closer. The error is put into `part`."""
    buf, start, size = records.buf, records.start, records.end - records.start
    if size > _MAGIC and buf[start + _MAGIC] < 2:
        part.error_code = _INVALID_RECORD
        part.error_message = "message formats 0 and 1 are not served: use record batches"
    elif size < _HEADER_BYTES:
        part.error_code = _INVALID_RECORD
        part.error_message = "a Produce must carry exactly one record batch per partition"
    elif buf[start + _ATTRIBUTES_LOW] & _TRANSACTIONAL_BIT:
        part.error_code = int(ErrorCode.INVALID_TXN_STATE)
        part.error_message = "transactions are not served by this version"
    elif version < 7 and buf[start + _ATTRIBUTES_LOW] & _CODEC_BITS == _ZSTD:
        part.error_code = int(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        part.error_message = "zstd needs Produce version 7 or later"
    else:
        return True
    return False


def _append_batch(
    partition: Partition, records: Slice, acks: int, pending: PendingProduce, part: PartitionProduceResponse, slot: int
) -> bool:
    if partition.offline:
        part.error_code = _STORAGE
        return False
    if acks == -1 and partition.min_insync_replicas > 1:
        part.error_code = _NOT_ENOUGH
        return False
    try:
        appended = partition.append(records.buf, records.start, records.end, ORIGIN_CLIENT)
    except KafkaError as error:
        part.error_code = int(error.code)
        part.error_message = error.message or None
        if part.error_code == _INVALID_RECORD:
            part.record_errors = [BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message=error.message)]
        part.log_start_offset = partition.log.start_offset
        return False
    part.base_offset = appended.base_offset
    part.log_append_time_ms = appended.log_append_time_ms
    part.log_start_offset = appended.log_start_offset
    if acks != 0:
        pending.waiting += 1
        partition.park(appended.last_offset + 1, pending, slot)
    return True
