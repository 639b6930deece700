"""One batch of a Produce on its way into a partition, and the request that waits until all of its batches are safe.

Used by `produce` and `produce_transactional`: finding the partition, what can be told from a few bytes, the append.
Errors are put into the partition's part of the response.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.partition import ORIGIN_CLIENT, Partition
from tapelog.replication.waiting import AppendWaiter
from tapelog.server.call import Call
from tapelog.server.handlers.leaders import address, leader
from tapelog.server.node_api import TopicState
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.produce_request import PartitionProduceData
from tapelog.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
)
from tapelog.wire.primitives import Slice

_UNKNOWN_TOPIC: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_UNKNOWN_ID: Final = int(ErrorCode.UNKNOWN_TOPIC_ID)
_INVALID_ACKS: Final = int(ErrorCode.INVALID_REQUIRED_ACKS)
_INVALID_TOPIC: Final = int(ErrorCode.INVALID_TOPIC_EXCEPTION)
_INVALID_RECORD: Final = int(ErrorCode.INVALID_RECORD)
_NOT_ENOUGH: Final = int(ErrorCode.NOT_ENOUGH_REPLICAS)
_STORAGE: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
LEADER_SINCE: Final = 10
BY_ID_SINCE: Final = 13
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
        self.misled = False
        """Some partition is not led here: the answer tells who leads it."""

    def committed(self, index: int) -> None:
        """One batch is safe."""
        self.waiting -= 1
        if self.waiting == 0 and self.started:
            self.finish()

    def failed(self, index: int, code: int) -> None:
        """One batch did not make it."""
        part = self.partitions[index]
        part.error_code = code
        if code == _NOT_LEADER:
            self.misled = True
        part.base_offset = -1
        part.log_append_time_ms = -1
        self.committed(index)

    def overdue(self, now_ms: int) -> bool:
        """The request's own timeout is over."""
        return self.deadline_ms <= now_ms

    def finish(self) -> None:
        """Every batch is decided: answer. With acks=0 an error closes the connection."""
        if self.acks != 0:
            if self.misled and self.call.version >= LEADER_SINCE:
                name_leaders(self.call, self.response)
            self.call.reply(self.response)
            return
        for part in self.partitions:
            if part.error_code:
                self.call.refuse(f"a Produce with acks=0 failed with {ErrorCode(part.error_code).name}")
                return
        self.call.reply_nothing()


def partition_for(
    state: TopicState | None, data: PartitionProduceData, pending: PendingProduce, part: PartitionProduceResponse
) -> Partition | None:
    """The partition to which a client may write here; None if there is none."""
    acks = pending.acks
    if acks < -1 or acks > 1:
        part.error_code = _INVALID_ACKS
        return None
    if state is None:
        part.error_code = _UNKNOWN_ID if pending.call.version >= BY_ID_SINCE else _UNKNOWN_TOPIC
        return None
    if state.internal:
        part.error_code = _INVALID_TOPIC
        part.error_message = f"{state.name} is internal: only the coordinators write to it"
        return None
    index = data.index
    if not 0 <= index < len(state.partitions):
        part.error_code = _UNKNOWN_TOPIC
        return None
    partition = state.partitions[index]
    if partition is None or not partition.leading:
        part.error_code = _NOT_LEADER
        pending.misled = True
        return None
    return partition


def name_leaders(call: Call, response: ProduceResponse) -> None:
    """Tell who leads what is not led here, and where that broker listens."""
    node = call.connection.dispatcher.node
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code != _NOT_LEADER:
                continue
            known = leader(node, topic.name, topic.topic_id, call.version >= BY_ID_SINCE, part.index)
            if known is None:
                continue
            part.current_leader = LeaderIdAndEpoch(leader_id=known[0], leader_epoch=known[1])
            endpoint = address(node, known[0], call.connection.listener)
            if endpoint is not None and all(told.node_id != known[0] for told in response.node_endpoints):
                where = NodeEndpoint(node_id=known[0], host=endpoint.host, port=endpoint.port)
                response.node_endpoints.append(where)


def looks_right(records: Slice, version: int, in_transaction: bool, part: PartitionProduceResponse) -> bool:
    """What can be told from a few bytes; the log looks closer."""
    buf, start, size = records.buf, records.start, records.end - records.start
    if size > _MAGIC and buf[start + _MAGIC] < 2:
        part.error_code = _INVALID_RECORD
        part.error_message = "message formats 0 and 1 are not served: use record batches"
    elif size < _HEADER_BYTES:
        part.error_code = _INVALID_RECORD
        part.error_message = "a Produce must carry exactly one record batch per partition"
    elif buf[start + _ATTRIBUTES_LOW] & _TRANSACTIONAL_BIT and not in_transaction:
        part.error_code = int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        part.error_message = "a transactional batch needs a request with a transactional id"
    elif version < 7 and buf[start + _ATTRIBUTES_LOW] & _CODEC_BITS == _ZSTD:
        part.error_code = int(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        part.error_message = "zstd needs Produce version 7 or later"
    else:
        return True
    return False


def no_batch(part: PartitionProduceResponse) -> None:
    """The partition's records are missing, unless something else is wrong with them."""
    if not part.error_code:
        part.error_code = _INVALID_RECORD
        part.error_message = "a Produce must carry exactly one record batch per partition"


def is_transactional(records: Slice) -> bool:
    """Whether this batch, which looks right, is part of a transaction."""
    return records.buf[records.start + _ATTRIBUTES_LOW] & _TRANSACTIONAL_BIT != 0


def append_batch(
    partition: Partition, records: Slice, pending: PendingProduce, part: PartitionProduceResponse, slot: int
) -> None:
    """Append and, unless acks=0, wait for it; or say in `part`, which is the one of that slot, why it is refused."""
    acks = pending.acks
    if partition.offline:
        part.error_code = _STORAGE
        return
    if partition.hub.full and partition.lacks_room:
        part.error_code = _STORAGE
        part.error_message = "the disk is full, or does not answer"
        return
    if acks == -1 and partition.under_min_isr:
        part.error_code = _NOT_ENOUGH
        return
    try:
        appended = partition.append(records.buf, records.start, records.end, ORIGIN_CLIENT)
    except KafkaError as error:
        part.error_code = int(error.code)
        part.error_message = error.message or None
        if part.error_code == _NOT_LEADER:
            pending.misled = True
            return
        if part.error_code == _INVALID_RECORD:
            part.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=error.message)
                for index in error.records or (0,)
            ]
        part.log_start_offset = partition.log.start_offset
        return
    part.base_offset = appended.base_offset
    part.log_append_time_ms = appended.log_append_time_ms
    part.log_start_offset = appended.log_start_offset
    if acks == -1:
        pending.waiting += 1
        partition.park(appended.last_offset + 1, pending, slot)
    elif acks == 1:
        pending.waiting += 1
        partition.park_local(appended.last_offset + 1, pending, slot)
