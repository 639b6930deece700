"""OffsetCommit: a group's place in a partition, as said by a member or by somebody outside any group.

Versions 2 to 10. Members must name their generation or epoch; a commit with generation -1 comes from an administrator
or from a consumer that assigns partitions itself, and is accepted while the group has no members.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.offsets.owner import OffsetDesk, PartitionCheck
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
NO_EXPIRY: Final = -1


def commit(desk: OffsetDesk, caller: Caller, request: OffsetCommitRequest) -> Outcome[OffsetCommitResponse]:
    """Write down every offset whose metadata is not too long. The topics have been checked to exist."""
    owner = desk.owner_of(request.group_id)
    generation = request.generation_id_or_member_epoch
    check: PartitionCheck | None = None
    if owner is not None:
        check = owner.check_commit(request.member_id, request.group_instance_id, generation, False, caller.api_version)
        owner.note_commit(request.member_id)
    elif generation >= 0:
        known = caller.api_version >= GROUP_ID_NOT_FOUND_FROM
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if known else ErrorCode.ILLEGAL_GENERATION)
    records: list[CoordinatorRecord] = []
    topics = [_commit_topic(desk, request, topic, check, records) for topic in request.topics]
    return Outcome(records, OffsetCommitResponse(topics=topics))


def _commit_topic(
    desk: OffsetDesk,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    check: PartitionCheck | None,
    records: list[CoordinatorRecord],
) -> OffsetCommitResponseTopic:
    now_ms = desk.clock.wall_ms()
    expires_ms = NO_EXPIRY if request.retention_time_ms == DEFAULT_RETENTION else now_ms + request.retention_time_ms
    results: list[OffsetCommitResponsePartition] = []
    for partition in topic.partitions:
        if check is not None:
            check(topic.topic_id, partition.partition_index)
        metadata = partition.committed_metadata or ""
        code = ErrorCode.NONE
        if len(metadata) > desk.config.offset_metadata_max:
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
