"""OffsetCommit: a group's place in a partition, as said by a member or by somebody outside any group.

Versions 2 to 10. Members must name their generation; a commit with generation -1 comes from an administrator or from a
consumer that assigns partitions itself, and is accepted while the group has no members.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.group import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, ClassicGroup
from tapelog.coordinators.classic.rebalance import extend_session
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import offset_commit
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from tapelog.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tapelog.wire.records.offset_commit_value import OffsetCommitValue

GROUP_ID_NOT_FOUND_FROM: Final = 9
DEFAULT_RETENTION: Final = -1


def commit(groups: ClassicGroups, caller: Caller, request: OffsetCommitRequest) -> Outcome[OffsetCommitResponse]:
    """Write down every offset whose metadata is not too long. The topics have been checked to exist."""
    group = groups.find(request.group_id)
    if group is not None:
        check_commit(group, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        member = group.members.get(request.member_id)
        if member is not None and group.is_in(STABLE, PREPARING_REBALANCE):
            extend_session(groups, group, member)
    elif request.generation_id_or_member_epoch >= 0:
        known = caller.api_version >= GROUP_ID_NOT_FOUND_FROM
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if known else ErrorCode.ILLEGAL_GENERATION)
    records: list[CoordinatorRecord] = []
    topics = [_commit_topic(groups, request, topic, records) for topic in request.topics]
    return Outcome(records, OffsetCommitResponse(topics=topics))


def check_commit(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> None:
    """Refuse a commit by somebody who is not, or not any more, entitled to it."""
    if generation < 0 and group.state == EMPTY:
        return
    if generation >= 0 or member_id or instance_id is not None:
        group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    elif group.state != EMPTY:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if group.state == COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def _commit_topic(
    groups: ClassicGroups,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    records: list[CoordinatorRecord],
) -> OffsetCommitResponseTopic:
    now_ms = groups.wall_ms()
    expires_ms = -1 if request.retention_time_ms == DEFAULT_RETENTION else now_ms + request.retention_time_ms
    results: list[OffsetCommitResponsePartition] = []
    for partition in topic.partitions:
        metadata = partition.committed_metadata or ""
        code = ErrorCode.NONE
        if len(metadata) > groups.config.offset_metadata_max:
            code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            value = OffsetCommitValue(
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=expires_ms,
                topic_id=topic.topic_id,
            )
            records.append(offset_commit(request.group_id, topic.name, partition.partition_index, value))
        results.append(OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code))
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=results)
