"""AddPartitionsToTxn in its two shapes: one transaction of a client (to version 3), many of another broker (from 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.gather import Gather
from tapelog.coordinators.transactions.admission import Admission
from tapelog.coordinators.transactions.partitions import TopicPartition
from tapelog.coordinators.transactions.states import EPOCH_BUMP_FROM
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from tapelog.wire.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

BATCHED_FROM: Final = 4
FENCED_CODE_FROM: Final = 2
"""From this version on clients know PRODUCER_FENCED; before, they are told INVALID_PRODUCER_EPOCH."""

Codes = dict[TopicPartition, ErrorCode]


class AddPartitions:
    """Answers AddPartitionsToTxn."""

    def __init__(self, admission: Admission, partition_count: Callable[[str], int]) -> None:
        self._admission = admission
        self._partition_count = partition_count

    def handle(
        self, caller: Caller, request: AddPartitionsToTxnRequest, done: Callable[[AddPartitionsToTxnResponse], None]
    ) -> None:
        """Every transaction of the request, and one answer when all of them are decided."""
        batched = caller.api_version >= BATCHED_FROM
        wanted = request.transactions if batched else [_only(request)]

        def finish(parts: list[Codes]) -> None:
            results = [
                AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=_by_topic(one, codes))
                for one, codes in zip(wanted, parts, strict=True)
            ]
            if batched:
                done(AddPartitionsToTxnResponse(results_by_transaction=results))
            else:
                done(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results))

        gather: Gather[Codes] = Gather(len(wanted), finish)
        for place, transaction in enumerate(wanted):
            self._one(caller, transaction, lambda codes, place=place: gather.put(place, codes))  # type: ignore[misc]

    def _one(self, caller: Caller, transaction: AddPartitionsToTxnTransaction, done: Callable[[Codes], None]) -> None:
        partitions = [(topic.name, index) for topic in transaction.topics for index in topic.partitions]
        unknown = [where for where in partitions if not 0 <= where[1] < self._partition_count(where[0])]
        if unknown:
            refused: Codes = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
            refused.update(dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            done(refused)
            return
        producer = (transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only:
            self._admission.verify(transaction.transactional_id, producer, partitions, done)
            return

        def give(code: ErrorCode) -> None:
            if code == ErrorCode.PRODUCER_FENCED and caller.api_version < FENCED_CODE_FROM:
                code = ErrorCode.INVALID_PRODUCER_EPOCH
            done(dict.fromkeys(partitions, code))

        version = EPOCH_BUMP_FROM if caller.api_version >= BATCHED_FROM else 0
        self._admission.add(transaction.transactional_id, producer, partitions, version, give)


def _only(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _by_topic(transaction: AddPartitionsToTxnTransaction, codes: Codes) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=int(codes[(topic.name, index)])
                )
                for index in topic.partitions
            ],
        )
        for topic in transaction.topics
    ]
