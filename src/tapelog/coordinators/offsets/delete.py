"""Offsets that are deleted: by OffsetDelete (version 0), with their group, with their topic.

A tombstone ends what is pending in a partition along with what is committed there.
"""

from __future__ import annotations

from collections.abc import Collection

from tapelog.coordinators.offsets.owner import OffsetDesk
from tapelog.coordinators.offsets.store import OffsetStore
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import offset_tombstone
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest
from tapelog.wire.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete(desk: OffsetDesk, request: OffsetDeleteRequest) -> Outcome[OffsetDeleteResponse]:
    """Forget the offsets named, except of topics the group is reading."""
    owner = desk.owner_of(request.group_id)
    if owner is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    owner.check_delete()
    records: list[CoordinatorRecord] = []
    topics: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        busy = owner.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if busy else ErrorCode.NONE
        indexes = [partition.partition_index for partition in topic.partitions]
        if not busy:
            records.extend(
                offset_tombstone(request.group_id, topic.name, index)
                for index in indexes
                if desk.store.is_place(request.group_id, (topic.name, index))
            )
        partitions = [OffsetDeleteResponsePartition(partition_index=index, error_code=code) for index in indexes]
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return Outcome(records, OffsetDeleteResponse(topics=topics))


def all_of_group(store: OffsetStore, group_id: str) -> list[CoordinatorRecord]:
    """Tombstones for every offset of a group, committed or pending."""
    return [offset_tombstone(group_id, *where) for where in sorted(store.places_of(group_id))]


def of_topics(store: OffsetStore, names: Collection[str]) -> Outcome[None]:
    """These topics were deleted: no group has a place in them any more."""
    records = [
        offset_tombstone(group_id, *where)
        for group_id in sorted(store.group_ids())
        for where in sorted(where for where in store.places_of(group_id) if where[0] in names)
    ]
    return Outcome(records, None, atomic=False)
