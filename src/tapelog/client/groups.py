"""Offsets of groups without being a member: read what is committed, commit what a query has done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tapelog.client.cluster import GROUP, Cluster
from tapelog.client.errors import ClientError, Retriable, refusal
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
from tapelog.wire.messages.offset_fetch_response import OffsetFetchResponse

NAMES_MOST: Final = 9
"""From version 10 on, both requests name topics by id; up to 9, by name."""
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
    return cluster.retry(
        f"read the offsets of group {group}", lambda: _fetch(cluster, group, where, require_stable, limit), limit
    )


def _fetch(
    cluster: Cluster, group: str, where: Sequence[TopicPartition] | None, require_stable: bool, deadline: Deadline
) -> dict[TopicPartition, Committed]:
    link = cluster.coordinator(GROUP, group, deadline)
    version = link.versions.choose(OffsetFetchRequest, NAMES_MOST)
    names = None if where is None else _by_topic(where)
    if version >= _GROUPS_FROM:
        named = (
            None
            if names is None
            else [OffsetFetchRequestTopics(topic, partition_indexes=p) for topic, p in names.items()]
        )
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=named)], require_stable=require_stable
        )
    else:
        old = None if names is None else [OffsetFetchRequestTopic(topic, p) for topic, p in names.items()]
        request = OffsetFetchRequest(group, old, require_stable=require_stable and version >= _STABLE_FROM)
    answer = link.call(request, OffsetFetchResponse, version, deadline)
    code = answer.error_code
    found: dict[TopicPartition, Committed] = {}
    told = [(topic.name, one) for topic in answer.topics for one in topic.partitions]
    rows = [
        (name, one.partition_index, one.committed_offset, one.metadata, one.committed_leader_epoch, one.error_code)
        for name, one in told
    ]
    for one_group in answer.groups:
        code = code or one_group.error_code
        for topic in one_group.topics:
            rows += [
                (topic.name, p.partition_index, p.committed_offset, p.metadata, p.committed_leader_epoch, p.error_code)
                for p in topic.partitions
            ]
    if code:
        raise refusal(code, f"tell the offsets of group {group}", f"group {group}")
    for name, partition, offset, metadata, epoch, error in rows:
        if error:
            raise refusal(
                error, f"tell the offset of {name}-{partition} in group {group}", f"group {group}, topic {name}"
            )
        if offset >= 0:
            found[TopicPartition(name, partition)] = Committed(offset, metadata or "", epoch)
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
