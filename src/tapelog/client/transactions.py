"""Transactions that one process writes and another ends.

A task begins one (`Transaction`), writes, commits a marker inside it, and leaves it open; `handle` is what the driver
needs to end it from elsewhere. Clusters of transaction.version 2 add partitions and offsets to a transaction by
themselves; for older ones that is asked for beforehand. An EndTxn is repeated in the version in which it was first
sent, because only then the coordinator knows it again; so the version is part of the handle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tapelog.client.cluster import GROUP, TRANSACTION, Cluster
from tapelog.client.coordinators import with_coordinators
from tapelog.client.errors import ClientError, ProtocolError, refusal
from tapelog.client.link import Link, Ticket
from tapelog.client.metadata import TopicPartition
from tapelog.client.pace import Deadline
from tapelog.client.produce import Producer
from tapelog.client.producer_settings import OpenTransaction, ProducerIdentity, ProducerSettings
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tapelog.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.describe_transactions_response import DescribeTransactionsResponse
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.end_txn_response import EndTxnResponse
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tapelog.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse

FEATURE: Final = "transaction.version"
TIMEOUT_MS: Final = 60_000
_CLIENTS_MOST: Final = 3  # later versions of AddPartitionsToTxn are for brokers
_EXPLICIT_MOST: Final = 4  # of EndTxn and TxnOffsetCommit, where the cluster has no transaction.version 2
_TWO_PHASE_FROM: Final = 6
_IMPLICIT_FROM: Final = 2
_ONGOING: Final = "Ongoing"


def init_producer(cluster: Cluster, deadline: Deadline | None = None) -> ProducerIdentity:
    """An identity for an idempotent producer without transactions."""
    limit = deadline or cluster.deadline()

    def attempt() -> ProducerIdentity:
        link = cluster.any_link(limit)
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
        answer = link.call(request, InitProducerIdResponse, link.versions.choose(InitProducerIdRequest), limit)
        if answer.error_code:
            raise refusal(answer.error_code, "give a producer id", f"broker {link.address}")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return cluster.retry("get a producer id", attempt, limit)


def init_transactional(
    cluster: Cluster,
    ids: Sequence[str],
    *,
    timeout_ms: int = TIMEOUT_MS,
    two_phase: bool = False,
    deadline: Deadline | None = None,
) -> dict[str, ProducerIdentity]:
    """New identities for transactional ids: whatever earlier attempts left open is aborted, and they are fenced.

    two_phase asks for transactions that do not time out (InitProducerId 6, where the brokers allow it).
    """
    found: dict[str, ProducerIdentity] = {}

    def send(link: Link, name: str, limit: Deadline) -> Ticket[InitProducerIdResponse]:
        most = InitProducerIdRequest.MAX_VERSION if two_phase else None
        version = link.versions.choose(InitProducerIdRequest, most)
        if two_phase and version < _TWO_PHASE_FROM:
            raise refusal(35, "prepare transactions in two phases", f"broker {link.address}")
        request = InitProducerIdRequest(name, timeout_ms, enable2_pc=two_phase)
        return link.send(request, InitProducerIdResponse, version, limit)

    def take(name: str, answer: InitProducerIdResponse) -> int:
        found[name] = ProducerIdentity(answer.producer_id, answer.producer_epoch)
        return answer.error_code

    failed = with_coordinators(
        cluster, list(dict.fromkeys(ids)), str, send, take, "take over transactional id", deadline
    )
    for error in failed.values():
        raise error
    return found


def end_transactions(
    cluster: Cluster, transactions: Sequence[OpenTransaction], *, commit: bool, deadline: Deadline | None = None
) -> dict[OpenTransaction, ClientError]:
    """End them all, whoever wrote them; those that could not be ended, with the reason.

    A TransactionStateError does not tell whether it was committed before: only what was written inside it does.
    """

    def send(link: Link, one: OpenTransaction, limit: Deadline) -> Ticket[EndTxnResponse]:
        request = EndTxnRequest(one.transactional_id, one.producer_id, one.epoch, commit)
        return link.send(request, EndTxnResponse, one.end_version, limit)

    def take(one: OpenTransaction, answer: EndTxnResponse) -> int:
        return answer.error_code

    doing = "commit transaction" if commit else "abort transaction"
    return with_coordinators(
        cluster, list(dict.fromkeys(transactions)), lambda one: one.transactional_id, send, take, doing, deadline
    )


def ongoing(cluster: Cluster, ids: Sequence[str], deadline: Deadline | None = None) -> list[str] | None:
    """Those of these transactional ids that have an open transaction; None where brokers do not tell (before 3.0)."""
    limit = deadline or cluster.deadline()
    names = list(dict.fromkeys(ids))

    def attempt() -> list[str]:
        asked: dict[Link, list[str]] = {}
        cluster.find_coordinators(TRANSACTION, names, limit)
        for name in names:
            asked.setdefault(cluster.coordinator(TRANSACTION, name, limit), []).append(name)
        found: dict[str, None] = {}
        for link, some in asked.items():
            version = link.versions.choose(DescribeTransactionsRequest)
            answer = link.call(DescribeTransactionsRequest(some), DescribeTransactionsResponse, version, limit)
            for told in answer.transaction_states:
                if told.error_code not in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND):
                    which = f"transactional id {told.transactional_id}"
                    raise refusal(told.error_code, "tell the state of a transaction", which)
                if told.transaction_state == _ONGOING:
                    found[told.transactional_id] = None
        return list(found)

    try:
        return cluster.retry("tell the state of transactions", attempt, limit)
    except ProtocolError:
        return None


class Transaction:
    """A transaction that this process writes. Begun by taking over its id; ended by whoever has its handle."""

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        *,
        timeout_ms: int = TIMEOUT_MS,
        two_phase: bool = False,
        deadline: Deadline | None = None,
    ) -> None:
        self.cluster = cluster
        self.transactional_id = transactional_id
        taken = init_transactional(
            cluster, [transactional_id], timeout_ms=timeout_ms, two_phase=two_phase, deadline=deadline
        )
        self.identity = taken[transactional_id]
        limit = deadline or cluster.deadline()
        versions = cluster.retry(
            f"reach the coordinator of {transactional_id}",
            lambda: cluster.coordinator(TRANSACTION, transactional_id, limit),
            limit,
        ).versions
        self.implicit = versions.feature(FEATURE) >= _IMPLICIT_FROM
        """Do brokers add partitions and offsets by themselves?"""
        self._producer: Producer | None = None
        self._end_version = versions.choose(EndTxnRequest, None if self.implicit else _EXPLICIT_MOST)

    @property
    def handle(self) -> OpenTransaction:
        """What the driver needs to end it."""
        return OpenTransaction(self.transactional_id, self.identity.producer_id, self.identity.epoch, self._end_version)

    def producer(self, settings: ProducerSettings | None = None) -> Producer:
        """The producer whose records belong to this transaction. There is one: two would give the same numbers twice,
        and brokers would take the second's records for repetitions."""
        if self._producer is None:
            enter = None if self.implicit else self._add_partitions
            name = self.transactional_id
            self._producer = Producer(self.cluster, self.identity, settings, transactional_id=name, enter=enter)
        return self._producer

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int], metadata: str = "", deadline: Deadline | None = None
    ) -> None:
        """Write offsets of a group that become visible when the transaction is committed."""
        limit = deadline or self.cluster.deadline()
        if not self.implicit:
            self._add_offsets(group, limit)
        self.cluster.retry(
            f"write offsets of group {group} in a transaction",
            lambda: self._write_offsets(group, offsets, metadata, limit),
            limit,
        )

    # -- inside

    @property
    def _which(self) -> str:
        return f"transactional id {self.transactional_id}"

    def _write_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int], metadata: str, deadline: Deadline
    ) -> None:
        link = self.cluster.coordinator(GROUP, group, deadline)
        version = link.versions.choose(TxnOffsetCommitRequest, None if self.implicit else _EXPLICIT_MOST)
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (name, partition), offset in offsets.items():
            topic = topics.setdefault(name, TxnOffsetCommitRequestTopic(name))
            topic.partitions.append(TxnOffsetCommitRequestPartition(partition, offset, committed_metadata=metadata))
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            group,
            self.identity.producer_id,
            self.identity.epoch,
            topics=list(topics.values()),
        )
        answer = link.call(request, TxnOffsetCommitResponse, version, deadline)
        for told in answer.topics:
            for one in told.partitions:
                if one.error_code:
                    doing = f"write an offset of {told.name}-{one.partition_index} for group {group}"
                    raise refusal(one.error_code, doing, f"{self._which}, group {group}")

    def _add_offsets(self, group: str, deadline: Deadline) -> None:
        def attempt() -> None:
            link = self.cluster.coordinator(TRANSACTION, self.transactional_id, deadline)
            identity = self.identity
            request = AddOffsetsToTxnRequest(self.transactional_id, identity.producer_id, identity.epoch, group)
            version = link.versions.choose(AddOffsetsToTxnRequest)
            answer = link.call(request, AddOffsetsToTxnResponse, version, deadline)
            if answer.error_code:
                raise refusal(answer.error_code, f"add group {group} to a transaction", self._which)

        self.cluster.retry(f"add group {group} to a transaction", attempt, deadline)

    def _add_partitions(self, where: list[TopicPartition]) -> None:
        deadline = self.cluster.deadline()

        def attempt() -> None:
            link = self.cluster.coordinator(TRANSACTION, self.transactional_id, deadline)
            topics: dict[str, AddPartitionsToTxnTopic] = {}
            for name, partition in where:
                topics.setdefault(name, AddPartitionsToTxnTopic(name)).partitions.append(partition)
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.identity.producer_id,
                v3_and_below_producer_epoch=self.identity.epoch,
                v3_and_below_topics=list(topics.values()),
            )
            version = link.versions.choose(AddPartitionsToTxnRequest, _CLIENTS_MOST)
            answer = link.call(request, AddPartitionsToTxnResponse, version, deadline)
            for told in answer.results_by_topic_v3_and_below:
                for one in told.results_by_partition:
                    if one.partition_error_code:
                        doing = f"add {told.name}-{one.partition_index} to a transaction"
                        raise refusal(one.partition_error_code, doing, self._which)

        self.cluster.retry(f"add partitions to a transaction of {self.transactional_id}", attempt, deadline)
