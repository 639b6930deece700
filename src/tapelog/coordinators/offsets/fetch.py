"""OffsetFetch: where a group got to. Versions 1 to 10; several groups from version 8, topic ids from version 10.

A plain fetch sees committed offsets. With require_stable it sees the newest and its answer waits until they are
committed, so the caller runs it as a write without records; and where a transaction has yet to decide, the answer is
UNSTABLE_OFFSET_COMMIT: ask again.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.offsets.owner import OffsetDesk
from tapelog.coordinators.offsets.store import OffsetStore
from tapelog.coordinators.offsets.stored import StoredOffset
from tapelog.coordinators.topics import TopicLookup
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequestGroup
from tapelog.wire.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tapelog.wire.primitives import ZERO_UUID

NO_OFFSET: Final = -1


def fetch(
    desk: OffsetDesk, topics: TopicLookup, asked: OffsetFetchRequestGroup, require_stable: bool, by_id: bool
) -> OffsetFetchResponseGroup:
    """The offsets of one group: those asked for, or all it has if no topics are named."""
    owner = desk.owner_of(asked.group_id)
    if owner is not None:
        owner.check_fetch(asked.member_id, asked.member_epoch, not require_stable)
    store = desk.store
    if asked.topics is None:
        found = _all_topics(store, topics, asked.group_id, require_stable, by_id)
        return OffsetFetchResponseGroup(group_id=asked.group_id, topics=found)
    answers: list[OffsetFetchResponseTopics] = []
    for topic in asked.topics:
        name = topics.name_of(topic.topic_id) if by_id else topic.name
        topic_id = topic.topic_id if by_id else topics.id_of(topic.name) or ZERO_UUID
        if name is None:
            partitions = [_refused(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes]
        else:
            partitions = [
                _unstable(index)
                if require_stable and store.pending.has(asked.group_id, (name, index))
                else _partition(index, store.get(asked.group_id, (name, index), not require_stable), topic_id)
                for index in topic.partition_indexes
            ]
        answers.append(OffsetFetchResponseTopics(name=name or "", topic_id=topic_id, partitions=partitions))
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=answers)


def _all_topics(
    store: OffsetStore, topics: TopicLookup, group_id: str, require_stable: bool, by_id: bool
) -> list[OffsetFetchResponseTopics]:
    by_name: dict[str, OffsetFetchResponseTopics] = {}
    for (name, index), found in store.of_group(group_id, not require_stable):
        answer = by_name.get(name)
        if answer is None:
            answer = by_name[name] = OffsetFetchResponseTopics(name=name, topic_id=topics.id_of(name) or ZERO_UUID)
        if is_stale(found, answer.topic_id):
            continue
        unstable = require_stable and store.pending.has(group_id, (name, index))
        answer.partitions.append(_unstable(index) if unstable else _partition(index, found, answer.topic_id))
    return [a for a in by_name.values() if a.partitions and not (by_id and a.topic_id == ZERO_UUID)]


def is_stale(value: StoredOffset, topic_id: bytes) -> bool:
    """The offset belongs to an earlier topic of that name."""
    return ZERO_UUID not in (value.topic_id, topic_id) and value.topic_id != topic_id


def _partition(index: int, value: StoredOffset | None, topic_id: bytes) -> OffsetFetchResponsePartitions:
    if value is None or is_stale(value, topic_id):
        return _refused(index, ErrorCode.NONE)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
    )


def _unstable(index: int) -> OffsetFetchResponsePartitions:
    return _refused(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)


def _refused(index: int, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=NO_OFFSET, committed_leader_epoch=-1, metadata="", error_code=code
    )
