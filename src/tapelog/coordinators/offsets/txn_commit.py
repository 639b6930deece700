"""TxnOffsetCommit: a group's places as part of a producer's transaction. Versions 0 to 5.

They count when the transaction commits. From version 3 the consumer's member and generation can be named, and must then
be current. That the transaction covers the group's partition has been checked before (`gate`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.offsets.owner import OffsetDesk, PartitionCheck
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import offset_commit
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition
from tapelog.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tapelog.wire.records.offset_commit_value import OffsetCommitValue


def txn_commit(
    desk: OffsetDesk, caller: Caller, request: TxnOffsetCommitRequest, topic_ids: Mapping[str, bytes]
) -> Outcome[TxnOffsetCommitResponse]:
    """Write down every offset whose metadata is not too long, for the transaction. The topics exist, with these ids."""
    try:
        check = _check(desk, caller, request)
        return _commit(desk, request, topic_ids, check)
    except KafkaError as error:
        if error.code == ErrorCode.STALE_MEMBER_EPOCH:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION) from None  # what a producer knows how to handle
        raise


def _check(desk: OffsetDesk, caller: Caller, request: TxnOffsetCommitRequest) -> PartitionCheck | None:
    owner = desk.owner_of(request.group_id)
    if owner is not None:
        return owner.check_commit(
            request.member_id, request.group_instance_id, request.generation_id, True, caller.api_version
        )
    if request.generation_id >= 0:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return None


def _commit(
    desk: OffsetDesk,
    request: TxnOffsetCommitRequest,
    topic_ids: Mapping[str, bytes],
    check: PartitionCheck | None,
) -> Outcome[TxnOffsetCommitResponse]:
    now_ms = desk.clock.wall_ms()
    records: list[CoordinatorRecord] = []
    topics: list[TxnOffsetCommitResponseTopic] = []
    for topic in request.topics:
        results: list[TxnOffsetCommitResponsePartition] = []
        for partition in topic.partitions:
            index = partition.partition_index
            if check is not None:
                check(topic_ids[topic.name], index)
            code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            if len(partition.committed_metadata or "") <= desk.config.offset_metadata_max:
                code = ErrorCode.NONE
                value = _value(partition, now_ms, topic_ids[topic.name])
                records.append(offset_commit(request.group_id, topic.name, index, value))
            results.append(TxnOffsetCommitResponsePartition(partition_index=index, error_code=code))
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=results))
    return Outcome(records, TxnOffsetCommitResponse(topics=topics))


def _value(partition: TxnOffsetCommitRequestPartition, now_ms: int, topic_id: bytes) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        topic_id=topic_id,
    )
