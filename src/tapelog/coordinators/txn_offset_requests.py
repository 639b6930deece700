"""TxnOffsetCommit from the request to the shard and back: known topics, the transaction gate, the request's versions.

From version 5 the group's partition of `__consumer_offsets` is added to the producer's transaction on the way; before,
AddOffsetsToTxn has done that and it is only verified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.gate import TransactionGate
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.offsets.txn_commit import txn_commit
from tapelog.coordinators.outcome import edge_code
from tapelog.coordinators.topics import TopicLookup
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from tapelog.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

OFFSETS_TOPIC: Final = "__consumer_offsets"

LOADING_IS_KNOWN_FROM: Final = 2
"""Older producers may fail on COORDINATOR_LOAD_IN_PROGRESS."""

ABORTABLE_IS_KNOWN_FROM: Final = 4
ADDS_PARTITION_FROM: Final = 5

Done = Callable[[TxnOffsetCommitResponse], None]


class TxnOffsetRequests:
    """TxnOffsetCommit for the group coordinator."""

    def __init__(
        self, runtime: Runtime[GroupMachine], topics: TopicLookup, partition_for: Callable[[str], int]
    ) -> None:
        self._runtime = runtime
        self._topics = topics
        self._partition_for = partition_for

    def commit(self, gate: TransactionGate | None, caller: Caller, request: TxnOffsetCommitRequest, done: Done) -> None:
        """Commit, for the transaction, to the partitions that exist; say of the others that they do not."""
        known: list[TxnOffsetCommitRequestTopic] = []
        answer: dict[str, TxnOffsetCommitResponseTopic] = {}
        for topic in request.topics:
            self._sort(topic, known, answer)

        def give(response: TxnOffsetCommitResponse) -> None:
            for topic in response.topics:
                answer.setdefault(
                    topic.name, TxnOffsetCommitResponseTopic(name=topic.name)
                ).partitions += topic.partitions
            done(TxnOffsetCommitResponse(topics=list(answer.values())))

        def refuse(code: ErrorCode) -> None:
            code = _in_version(edge_code(code), caller.api_version)
            give(TxnOffsetCommitResponse(topics=[_refusal(topic, code) for topic in known]))

        if not known:
            give(TxnOffsetCommitResponse())
        elif not request.group_id:
            refuse(ErrorCode.INVALID_GROUP_ID)
        elif gate is None:
            refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif request.producer_id < 0:
            refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        else:
            self._pass(gate, caller, _with_topics(request, known), give, refuse)

    def _sort(
        self,
        topic: TxnOffsetCommitRequestTopic,
        known: list[TxnOffsetCommitRequestTopic],
        answer: dict[str, TxnOffsetCommitResponseTopic],
    ) -> None:
        count = self._topics.partition_count(topic.name)
        there = [p for p in topic.partitions if 0 <= p.partition_index < count]
        missing = [p for p in topic.partitions if not 0 <= p.partition_index < count]
        if there:
            known.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=there))
        if missing:
            lacking = TxnOffsetCommitRequestTopic(name=topic.name, partitions=missing)
            refusal = _refusal(lacking, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answer.setdefault(
                topic.name, TxnOffsetCommitResponseTopic(name=topic.name)
            ).partitions += refusal.partitions

    def _pass(
        self,
        gate: TransactionGate,
        caller: Caller,
        request: TxnOffsetCommitRequest,
        give: Done,
        refuse: Callable[[ErrorCode], None],
    ) -> None:
        """Ask the gate, then write. A marker that comes in between ends the attempt."""
        partition = self._partition_for(request.group_id)
        place = (OFFSETS_TOPIC, partition)
        producer_id, producer_epoch = request.producer_id, request.producer_epoch
        topic_ids = {topic.name: self._topics.id_of(topic.name) or b"" for topic in request.topics}
        try:
            guard = self._runtime.guard(partition, producer_id, producer_epoch)
        except KafkaError as error:
            refuse(error.code)
            return

        def admitted(codes: dict[tuple[str, int], ErrorCode]) -> None:
            code = codes.get(place, ErrorCode.UNKNOWN_SERVER_ERROR)
            if code != ErrorCode.NONE:
                self._runtime.let_go(partition, guard)
                refuse(code)
                return
            self._runtime.write_transactional(
                partition,
                producer_id,
                producer_epoch,
                lambda machine: txn_commit(machine.offsets, caller, request, topic_ids),
                give,
                refuse,
                guard,
            )

        adds = caller.api_version >= ADDS_PARTITION_FROM
        gate.admit(request.transactional_id, producer_id, producer_epoch, [place], adds, admitted)


def _in_version(code: ErrorCode, version: int) -> ErrorCode:
    """The code as producers of that version understand it."""
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < LOADING_IS_KNOWN_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_IS_KNOWN_FROM:
        return ErrorCode.INVALID_TXN_STATE
    return code


def _with_topics(request: TxnOffsetCommitRequest, topics: list[TxnOffsetCommitRequestTopic]) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        transactional_id=request.transactional_id,
        group_id=request.group_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=topics,
    )


def _refusal(topic: TxnOffsetCommitRequestTopic, code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code)
            for p in topic.partitions
        ],
    )
