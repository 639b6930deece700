"""Offsets of groups without being a member: read what is committed, commit what a query has done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tapelog.client.cluster import GROUP, Cluster
from tapelog.client.errors import ClientError, Retriable, refusal
from tapelog.client.link import Link
from tapelog.client.metadata import TopicPartition
from tapelog.client.pace import Deadline
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_commit_response import OffsetCommitResponse
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

NAMES_MOST: Final = 9
"""From version 10 on, both requests name topics by id; up to 9, by name."""
GROUPS_MAX: Final = 500
"""Of one request."""
_GROUPS_FROM: Final = 8
_STABLE_FROM: Final = 7


class Committed(NamedTuple):
    """What is committed for a partition."""

    offset: int
    metadata: str
    leader_epoch: int


def committed(
    cluster: Cluster,
    group: str,
    where: Sequence[TopicPartition] | None = None,
    *,
    require_stable: bool = True,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, Committed]:
    """What the group has committed for these partitions, or for all; those without are left out.

    With require_stable, an offset that an open transaction may still change is waited for.
    """
    limit = deadline or cluster.deadline()

    def attempt() -> dict[TopicPartition, Committed]:
        link = cluster.coordinator(GROUP, group, limit)
        return _fetch(link, [group], where, require_stable, limit)[group]

    return cluster.retry(f"read the offsets of group {group}", attempt, limit)


def committed_in(
    cluster: Cluster, groups: Sequence[str], *, require_stable: bool = True, deadline: Deadline | None = None
) -> dict[str, dict[TopicPartition, Committed]]:
    """The same for many groups, asked together: all that each of them has committed."""
    limit = deadline or cluster.deadline()
    found: dict[str, dict[TopicPartition, Committed]] = {}

    def attempt() -> None:
        left = [group for group in dict.fromkeys(groups) if group not in found][:GROUPS_MAX]
        cluster.find_coordinators(GROUP, left, limit)
        by_link: dict[Link, list[str]] = {}
        for group in left:
            by_link.setdefault(cluster.coordinator(GROUP, group, limit), []).append(group)
        for link, some in by_link.items():
            several = link.versions.choose(OffsetFetchRequest, NAMES_MOST) >= _GROUPS_FROM
            for part in [some] if several else [[group] for group in some]:
                found.update(_fetch(link, part, None, require_stable, limit))

    while len(found) < len(set(groups)):
        cluster.retry("read the offsets of groups", attempt, limit)
    return found


def _fetch(
    link: Link, groups: Sequence[str], where: Sequence[TopicPartition] | None, require_stable: bool, deadline: Deadline
) -> dict[str, dict[TopicPartition, Committed]]:
    """Of groups with one coordinator; up to version 7 a request takes one."""
    version = link.versions.choose(OffsetFetchRequest, NAMES_MOST)
    names = None if where is None else _by_topic(where)
    if version >= _GROUPS_FROM:
        named = (
            None
            if names is None
            else [OffsetFetchRequestTopics(topic, partition_indexes=p) for topic, p in names.items()]
        )
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=named) for group in groups], require_stable=require_stable
        )
    else:
        old = None if names is None else [OffsetFetchRequestTopic(topic, p) for topic, p in names.items()]
        request = OffsetFetchRequest(groups[0], old, require_stable=require_stable and version >= _STABLE_FROM)
    answer = link.call(request, OffsetFetchResponse, version, deadline)
    if answer.error_code:
        raise refusal(answer.error_code, f"tell the offsets of group {groups[0]}", f"group {groups[0]}")
    if version < _GROUPS_FROM:
        return {groups[0]: _told(groups[0], answer.topics)}
    found: dict[str, dict[TopicPartition, Committed]] = {}
    for one in answer.groups:
        if one.error_code:
            raise refusal(one.error_code, f"tell the offsets of group {one.group_id}", f"group {one.group_id}")
        found[one.group_id] = _told(one.group_id, one.topics)
    missing = [group for group in groups if group not in found]
    if missing:
        raise Retriable(f"the broker did not answer for group {missing[0]}", f"group {missing[0]}")
    return found


def _told(
    group: str, topics: Sequence[OffsetFetchResponseTopic] | Sequence[OffsetFetchResponseTopics]
) -> dict[TopicPartition, Committed]:
    found: dict[TopicPartition, Committed] = {}
    for topic in topics:
        for one in topic.partitions:
            if one.error_code:
                doing = f"tell the offset of {topic.name}-{one.partition_index} in group {group}"
                raise refusal(one.error_code, doing, f"group {group}, topic {topic.name}")
            if one.committed_offset >= 0:
                told = Committed(one.committed_offset, one.metadata or "", one.committed_leader_epoch)
                found[TopicPartition(topic.name, one.partition_index)] = told
    return found


def commit(
    cluster: Cluster,
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    metadata: str = "",
    deadline: Deadline | None = None,
) -> None:
    """Commit offsets for a group that has no members; refused (UNKNOWN_MEMBER_ID) where it has some."""
    limit = deadline or cluster.deadline()
    left = {TopicPartition(*at): offset for at, offset in offsets.items()}

    def attempt() -> None:
        link = cluster.coordinator(GROUP, group, limit)
        version = link.versions.choose(OffsetCommitRequest, NAMES_MOST)
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for at, offset in left.items():
            topic = topics.setdefault(at.topic, OffsetCommitRequestTopic(at.topic))
            topic.partitions.append(OffsetCommitRequestPartition(at.partition, offset, committed_metadata=metadata))
        request = OffsetCommitRequest(group, topics=list(topics.values()))
        answer = link.call(request, OffsetCommitResponse, version, limit)
        problems: list[ClientError] = []
        for told in answer.topics:
            for one in told.partitions:
                if one.error_code:
                    which = f"group {group}, topic {told.name}"
                    problems.append(
                        refusal(one.error_code, f"commit {told.name}-{one.partition_index} for group {group}", which)
                    )
                else:
                    left.pop(TopicPartition(told.name, one.partition_index), None)
        for problem in problems:
            if not isinstance(problem, Retriable):
                raise problem
        if problems:
            raise problems[0]

    if left:
        cluster.retry(f"commit the offsets of group {group}", attempt, limit)


def _by_topic(where: Sequence[TopicPartition]) -> dict[str, list[int]]:
    names: dict[str, list[int]] = {}
    for topic, partition in where:
        names.setdefault(topic, []).append(partition)
    return names
