"""Which node a request is for, and which error codes an answer holds: what `sim.routing` must know of each API."""

from __future__ import annotations

from typing import Any, Final

from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.list_offsets_response import ListOffsetsResponse
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest
from tapelog.wire.messages.offset_commit_response import OffsetCommitResponse
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest
from tapelog.wire.messages.offset_fetch_response import OffsetFetchResponse
from tapelog.wire.messages.produce_request import ProduceRequest
from tapelog.wire.messages.produce_response import ProduceResponse
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tapelog.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse

Destination = tuple[str, str, int]
"""("leader", topic, partition), ("group" or "transactions", id, 0), or NOWHERE in particular."""
NOWHERE: Final[Destination] = ("any", "", 0)

MOVED: Final = frozenset(
    int(code)
    for code in (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
"""Ask again who is in charge."""


def destination_of(request: Message) -> Destination:
    """Who must get it. Requests of several partitions go where their first one is."""
    if isinstance(request, ProduceRequest):
        topic = request.topic_data[0]
        return "leader", topic.name, topic.partition_data[0].index
    if isinstance(request, FetchRequest):
        return "leader", request.topics[0].topic, request.topics[0].partitions[0].partition
    if isinstance(request, ListOffsetsRequest):
        return "leader", request.topics[0].name, request.topics[0].partitions[0].partition_index
    if isinstance(request, InitProducerIdRequest):
        return ("transactions", request.transactional_id, 0) if request.transactional_id is not None else NOWHERE
    if isinstance(request, AddPartitionsToTxnRequest):
        return "transactions", request.v3_and_below_transactional_id, 0
    if isinstance(request, AddOffsetsToTxnRequest | EndTxnRequest):
        return "transactions", request.transactional_id, 0
    if isinstance(request, OffsetCommitRequest | TxnOffsetCommitRequest):
        return "group", request.group_id, 0
    if isinstance(request, OffsetFetchRequest):
        return "group", request.group_id or request.groups[0].group_id, 0
    return NOWHERE


def codes_of(response: Any) -> list[int]:
    """The error codes in an answer."""
    if isinstance(response, ProduceResponse):
        return [part.error_code for topic in response.responses for part in topic.partition_responses]
    if isinstance(response, FetchResponse):
        parts = [part.error_code for topic in response.responses for part in topic.partitions]
        return [response.error_code, *parts]
    if isinstance(response, ListOffsetsResponse | OffsetCommitResponse | TxnOffsetCommitResponse):
        return [part.error_code for topic in response.topics for part in topic.partitions]
    if isinstance(response, AddPartitionsToTxnResponse):
        return [
            part.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]
    if isinstance(response, OffsetFetchResponse):
        return [response.error_code, *(group.error_code for group in response.groups)]
    code = getattr(response, "error_code", 0)
    return [code] if isinstance(code, int) else []
