"""The offset APIs of the facade: topic names and ids, request versions, several groups in one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.gather import Gather
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.offsets import commit, delete, fetch
from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.topics import TopicLookup
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from tapelog.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from tapelog.wire.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tapelog.wire.primitives import ZERO_UUID

TOPIC_IDS_FROM: Final = 10
GROUPS_IN_FETCH_FROM: Final = 8
ERROR_IN_FETCH_FROM: Final = 2


class OffsetRequests:
    """OffsetCommit, OffsetFetch and OffsetDelete, from the request to the shard and back."""

    def __init__(
        self, runtime: Runtime[GroupMachine], topics: TopicLookup, partition_for: Callable[[str], int]
    ) -> None:
        self._runtime = runtime
        self._topics = topics
        self._partition_for = partition_for

    # -- commit

    def commit(
        self, caller: Caller, request: OffsetCommitRequest, done: Callable[[OffsetCommitResponse], None]
    ) -> None:
        """Commit to the partitions that exist; say of the others that they do not."""
        known: list[OffsetCommitRequestTopic] = []
        refused: list[OffsetCommitResponseTopic] = []
        for topic in request.topics:
            self._sort_commit(caller, topic, known, refused)
        if not known:
            done(_with_refused(OffsetCommitResponse(), refused))
            return
        checked = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            retention_time_ms=request.retention_time_ms,
            topics=known,
        )
        self._runtime.write(
            self._partition_for(request.group_id),
            lambda machine: commit.commit(machine.offsets, caller, checked),
            lambda response: done(_with_refused(response, refused)),
            lambda code: done(_with_refused(_commit_refused(known, code), refused)),
        )

    def _sort_commit(
        self,
        caller: Caller,
        topic: OffsetCommitRequestTopic,
        known: list[OffsetCommitRequestTopic],
        refused: list[OffsetCommitResponseTopic],
    ) -> None:
        by_id = caller.api_version >= TOPIC_IDS_FROM
        name = self._topics.name_of(topic.topic_id) if by_id else topic.name
        topic_id = topic.topic_id if by_id else self._topics.id_of(topic.name)
        if name is None or topic_id is None:
            refused.append(
                _commit_refusal(topic, ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            )
            return
        count = self._topics.partition_count(name)
        there = [p for p in topic.partitions if 0 <= p.partition_index < count]
        missing = [p for p in topic.partitions if not 0 <= p.partition_index < count]
        if there:
            known.append(OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=there))
        if missing:
            lacking = OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=missing)
            refused.append(_commit_refusal(lacking, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    # -- fetch

    def fetch(self, caller: Caller, request: OffsetFetchRequest, done: Callable[[OffsetFetchResponse], None]) -> None:
        """Fetch for one group or several, in the order asked."""
        by_id = caller.api_version >= TOPIC_IDS_FROM
        several = caller.api_version >= GROUPS_IN_FETCH_FROM
        asked = request.groups if several else [_single_group(request)]
        gather: Gather[OffsetFetchResponseGroup] = Gather(
            len(asked),
            lambda groups: done(
                OffsetFetchResponse(groups=groups) if several else _single_answer(caller, asked[0], groups[0])
            ),
        )
        for place, group in enumerate(asked):
            self._fetch_group(group, request.require_stable, by_id, gather, place)

    def _fetch_group(
        self,
        group: OffsetFetchRequestGroup,
        require_stable: bool,
        by_id: bool,
        gather: Gather[OffsetFetchResponseGroup],
        place: int,
    ) -> None:
        partition = self._partition_for(group.group_id)
        if require_stable:
            self._runtime.write(
                partition,
                lambda m: Outcome([], fetch.fetch(m.offsets, self._topics, group, require_stable, by_id)),
                lambda answer: gather.put(place, answer),
                lambda code: gather.put(place, OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)),
            )
            return
        try:
            answer = self._runtime.read(
                partition, lambda m: fetch.fetch(m.offsets, self._topics, group, require_stable, by_id)
            )
        except KafkaError as error:
            answer = OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
        gather.put(place, answer)

    # -- delete

    def delete(
        self, caller: Caller, request: OffsetDeleteRequest, done: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """Delete offsets of partitions that exist; say of the others that they do not."""
        known: list[OffsetDeleteRequestTopic] = []
        refused: list[OffsetDeleteResponseTopic] = []
        for topic in request.topics:
            count = self._topics.partition_count(topic.name)
            there = [p for p in topic.partitions if 0 <= p.partition_index < count]
            missing = [p.partition_index for p in topic.partitions if not 0 <= p.partition_index < count]
            if there:
                known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
            if missing:
                refused.append(_delete_refusal(topic.name, missing))
        if not request.group_id:
            done(OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID))
            return
        checked = OffsetDeleteRequest(group_id=request.group_id, topics=known)
        self._runtime.write(
            self._partition_for(request.group_id),
            lambda machine: delete.delete(machine.offsets, checked),
            lambda response: done(_with_undeleted(response, refused)),
            lambda code: done(OffsetDeleteResponse(error_code=code)),
        )


def _commit_refusal(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code) for p in topic.partitions
        ],
    )


def _commit_refused(topics: list[OffsetCommitRequestTopic], code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_commit_refusal(topic, code) for topic in topics])


def _with_refused(response: OffsetCommitResponse, refused: list[OffsetCommitResponseTopic]) -> OffsetCommitResponse:
    response.topics = _merged(response.topics, refused)
    return response


def _merged(
    answered: list[OffsetCommitResponseTopic], refused: list[OffsetCommitResponseTopic]
) -> list[OffsetCommitResponseTopic]:
    """One entry per topic, even where some of its partitions exist and others do not."""
    by_topic: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
    for topic in [*answered, *refused]:
        first = by_topic.setdefault((topic.name, topic.topic_id), topic)
        if first is not topic:
            first.partitions += topic.partitions
    return list(by_topic.values())


def _with_undeleted(response: OffsetDeleteResponse, refused: list[OffsetDeleteResponseTopic]) -> OffsetDeleteResponse:
    by_name = {topic.name: topic for topic in response.topics}
    for topic in refused:
        first = by_name.setdefault(topic.name, topic)
        if first is not topic:
            first.partitions += topic.partitions
    response.topics = list(by_name.values())
    return response


def _delete_refusal(name: str, indexes: list[int]) -> OffsetDeleteResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partitions = [OffsetDeleteResponsePartition(partition_index=index, error_code=code) for index in indexes]
    return OffsetDeleteResponseTopic(name=name, partitions=partitions)


def _single_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """What a request before version 8 asks, in the words of version 8."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=t.name, topic_id=ZERO_UUID, partition_indexes=t.partition_indexes)
            for t in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _single_answer(
    caller: Caller, asked: OffsetFetchRequestGroup, group: OffsetFetchResponseGroup
) -> OffsetFetchResponse:
    """The answer before version 8; before version 2 a group's error has to stand on its partitions."""
    code = group.error_code
    if code != ErrorCode.NONE and caller.api_version < ERROR_IN_FETCH_FROM:
        topics = [
            OffsetFetchResponseTopic(
                name=t.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=i, committed_offset=fetch.NO_OFFSET, metadata="", error_code=code
                    )
                    for i in t.partition_indexes
                ],
            )
            for t in asked.topics or []
        ]
        return OffsetFetchResponse(topics=topics)
    topics = [
        OffsetFetchResponseTopic(
            name=t.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=p.partition_index,
                    committed_offset=p.committed_offset,
                    committed_leader_epoch=p.committed_leader_epoch,
                    metadata=p.metadata,
                    error_code=p.error_code,
                )
                for p in t.partitions
            ],
        )
        for t in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=code)
