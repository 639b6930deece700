"""Offsets that go away: OffsetDelete (version 0), deleted topics, and retention.

Offsets of a group with members expire only where nobody subscribes to the topic any more; those of an empty group once
it has been empty, and those of a consumer outside any group once it has been silent, for the retention time.
"""

from __future__ import annotations

from collections.abc import Collection

from tapelog.coordinators.classic.group import EMPTY, STABLE, ClassicGroup
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.offsets.stored import StoredOffset, TopicPartition
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import group_tombstone, offset_tombstone
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest
from tapelog.wire.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete(groups: ClassicGroups, request: OffsetDeleteRequest) -> Outcome[OffsetDeleteResponse]:
    """Forget the offsets named, except of topics the group is reading."""
    group = groups.find(request.group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state != EMPTY and not group.is_consumer_group:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    records: list[CoordinatorRecord] = []
    topics: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        busy = group.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if busy else ErrorCode.NONE
        indexes = [partition.partition_index for partition in topic.partitions]
        if not busy:
            records.extend(
                offset_tombstone(request.group_id, topic.name, index)
                for index in indexes
                if groups.state.offsets.get(request.group_id, (topic.name, index), committed_only=False) is not None
            )
        partitions = [OffsetDeleteResponsePartition(partition_index=index, error_code=code) for index in indexes]
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return Outcome(records, OffsetDeleteResponse(topics=topics))


def all_of_group(groups: ClassicGroups, group_id: str) -> list[CoordinatorRecord]:
    """Tombstones for every offset of a group."""
    return [offset_tombstone(group_id, *where) for where, _ in groups.state.offsets.of_group(group_id, False)]


def of_topics(groups: ClassicGroups, names: Collection[str]) -> Outcome[None]:
    """These topics were deleted: no group has a place in them any more."""
    records = [
        offset_tombstone(group_id, *where)
        for group_id in sorted(groups.state.offsets.group_ids())
        for where in sorted(where for where, _ in groups.state.offsets.newest(group_id) if where[0] in names)
    ]
    return Outcome(records, None, atomic=False)


def expired(groups: ClassicGroups) -> Outcome[None]:
    """Everything that retention takes away now; empty groups without an offset left go too."""
    records: list[CoordinatorRecord] = []
    for group_id in groups.state.group_ids():
        group = groups.find(group_id)
        assert group is not None
        gone: list[TopicPartition] = []
        kept = 0
        for where, value in groups.state.offsets.newest(group_id):
            if _is_expired(groups, group, where[0], value):
                gone.append(where)
            else:
                kept += 1
        records.extend(offset_tombstone(group_id, *where) for where in sorted(gone))
        if kept == 0 and group.state == EMPTY and not group.pending_joins:
            records.append(group_tombstone(group_id))
    return Outcome(records, None, atomic=False)


def _is_expired(groups: ClassicGroups, group: ClassicGroup, topic: str, value: StoredOffset) -> bool:
    if group.is_subscribed_to(topic):
        return False
    since_ms = value.commit_timestamp
    if group.protocol_type is not None:
        if group.state == EMPTY:
            since_ms = group.state_since_ms if group.state_since_ms >= 0 else value.commit_timestamp
        elif not (group.state == STABLE and group.is_consumer_group and group.subscribed is not None):
            return False
    now_ms = groups.wall_ms()
    if value.expire_timestamp >= 0:
        return now_ms >= value.expire_timestamp
    return now_ms - since_ms >= groups.config.offsets_retention_ms
