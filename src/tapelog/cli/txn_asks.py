"""What `tape txn` asks brokers: transactions of coordinators, producers of partitions, and markers to end them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tapelog.cli.connect import near_name
from tapelog.cli.hanging import KnownTransaction, OpenTransaction, Place
from tapelog.cli.output import EXIT_NOT_FOUND, EXIT_USAGE, CliError
from tapelog.cli.raw import TRANSACTION, Node, Wire, check
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tapelog.wire.messages.describe_producers_response import DescribeProducersResponse
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tapelog.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tapelog.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse

AGAIN_S = 0.05
STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
NOT_FOUND_HINT = "`tape txn list` shows all"


@dataclass(frozen=True, slots=True, order=True)
class ListedTransaction:
    """A row of `tape txn list`."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True, order=True)
class Producer:
    """A producer that a partition remembers; `start_offset` is that of its open transaction, if it has one."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_ms: int
    coordinator_epoch: int
    start_offset: int | None


def list_transactions(
    wire: Wire,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    older_ms: int = -1,
    pattern: str | None = None,
) -> list[ListedTransaction]:
    """Transactional ids of all coordinators, sorted."""
    found = []
    for node in wire.nodes():
        request = ListTransactionsRequest(list(states), list(producer_ids), older_ms, pattern)
        told = wire.ask(request, ListTransactionsResponse, node)
        check(told.error_code, f"broker {node.id} cannot list transactions", "it may be starting: try again")
        if told.unknown_state_filters:
            unknown = ", ".join(f"`{name}`" for name in told.unknown_state_filters)
            raise CliError(f"there is no state {unknown}", f"states are {', '.join(STATES)}", EXIT_USAGE)
        found += [
            ListedTransaction(one.transactional_id, one.producer_id, one.transaction_state, node.id)
            for one in told.transaction_states
        ]
    return sorted(found)


def describe_transaction(wire: Wire, transactional_id: str) -> tuple[TransactionState, Node]:
    """One transactional id, and its coordinator."""
    node = wire.coordinator(transactional_id, TRANSACTION)
    told = wire.ask(DescribeTransactionsRequest([transactional_id]), DescribeTransactionsResponse, node)
    (state,) = told.transaction_states
    if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        hint = near_name(transactional_id, (one.transactional_id for one in list_transactions(wire))) + NOT_FOUND_HINT
        check(state.error_code, f"there is no transactional id `{transactional_id}`", hint, EXIT_NOT_FOUND)
    check(state.error_code, f"transactional id `{transactional_id}`", "the coordinator may be starting: try again")
    return state, node


def partitions_of(state: TransactionState) -> list[Place]:
    """The partitions of its transaction, sorted."""
    return sorted((topic.topic, number) for topic in state.topics for number in topic.partitions)


def producers(wire: Wire, wanted_topics: Mapping[str, set[int]] | None) -> list[Producer]:
    """Producers that leaders of these partitions remember, sorted. No partitions: all of a topic; None: all topics."""
    found = []
    only = wanted_topics or {}
    for node, led in sorted(wire.leaders(wanted_topics).items()):
        wanted = [
            TopicRequest(topic, numbers)
            for topic, all_numbers in sorted(led.items())
            if (numbers := [number for number in all_numbers if not only.get(topic) or number in only[topic]])
        ]
        if not wanted:
            continue
        told = wire.ask(DescribeProducersRequest(wanted), DescribeProducersResponse, node)
        for topic in told.topics:
            for part in topic.partitions:
                if wanted_topics is not None:
                    check(part.error_code, f"{topic.name}:{part.partition_index}")
                found += [
                    Producer(
                        topic.name,
                        part.partition_index,
                        one.producer_id,
                        one.producer_epoch,
                        one.last_sequence,
                        one.last_timestamp,
                        one.coordinator_epoch,
                        one.current_txn_start_offset if one.current_txn_start_offset >= 0 else None,
                    )
                    for one in part.active_producers
                ]
    return sorted(found, key=lambda one: (one.topic, one.partition, one.producer_id))


def open_transactions(found: Iterable[Producer]) -> list[OpenTransaction]:
    """Those of the producers that have one open."""
    return [
        OpenTransaction(
            one.topic,
            one.partition,
            one.producer_id,
            one.producer_epoch,
            one.coordinator_epoch,
            one.start_offset,
            one.last_ms,
        )
        for one in found
        if one.start_offset is not None
    ]


def known_transactions(wire: Wire, producer_ids: Iterable[int]) -> dict[int, KnownTransaction]:
    """What coordinators know about these producers' transactions, by producer id."""
    wanted = sorted(set(producer_ids))
    known = {}
    for listed in list_transactions(wire, producer_ids=wanted) if wanted else ():
        state, _ = describe_transaction(wire, listed.transactional_id)
        known[listed.producer_id] = KnownTransaction(
            listed.transactional_id, state.transaction_state, frozenset(partitions_of(state))
        )
    return known


def write_abort_marker(wire: Wire, transaction: OpenTransaction) -> None:
    """End an open transaction in one partition, over the head of its coordinator."""
    marker = WritableTxnMarker(
        transaction.producer_id,
        transaction.producer_epoch,
        False,
        [WritableTxnMarkerTopic(transaction.topic, [transaction.partition])],
        max(0, transaction.coordinator_epoch),
    )
    (leader,) = [
        node
        for node, led in wire.leaders([transaction.topic]).items()
        if transaction.partition in led.get(transaction.topic, ())
    ]
    told = wire.ask(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, leader)
    for one in told.markers:
        for topic in one.topics:
            for part in topic.partitions:
                check(part.error_code, f"the marker in {topic.name}:{part.partition_index}")


def fence(wire: Wire, state: TransactionState, node: Node, timeout_s: float) -> InitProducerIdResponse:
    """Begin a new epoch of a transactional id: aborts its open transaction and shuts out its producer."""
    request = InitProducerIdRequest(state.transactional_id, max(1, state.transaction_timeout_ms))
    deadline = time.monotonic() + timeout_s
    while True:
        told = wire.ask(request, InitProducerIdResponse, node)
        if told.error_code != ErrorCode.CONCURRENT_TRANSACTIONS or time.monotonic() > deadline:
            check(told.error_code, f"transactional id `{state.transactional_id}`")
            return told
        time.sleep(AGAIN_S)  # its transaction is being ended, which is what was asked for
