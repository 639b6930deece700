"""ListTransactions and DescribeTransactions: committed state, as an administrator sees it."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.coordinators.transactions.states import LABELS, Transaction, TxnState
from tapelog.coordinators.transactions.store import TransactionStore
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_transactions_response import TopicData
from tapelog.wire.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import TransactionState as ListedTransaction

_STATES = {label: state for state, label in LABELS.items()}


def unknown_states(request: ListTransactionsRequest) -> list[str]:
    """The state filters that name no state."""
    return [name for name in request.state_filters if name not in _STATES]


def filter_of(request: ListTransactionsRequest, now_ms: int) -> Callable[[Transaction], bool]:
    """Which transactions the request wants, apart from its pattern."""
    states = frozenset(_STATES[name] for name in request.state_filters if name in _STATES)
    producer_ids = frozenset(request.producer_id_filters)

    def wanted(transaction: Transaction) -> bool:
        if producer_ids and transaction.producer_id not in producer_ids:
            return False
        if request.state_filters and transaction.state not in states:
            return False
        return request.duration_filter < 0 or now_ms - transaction.started_ms > request.duration_filter

    return wanted


def listed(store: TransactionStore, wanted: Callable[[Transaction], bool]) -> list[ListedTransaction]:
    """Those of the shard that are wanted."""
    return [
        ListedTransaction(
            transactional_id=transactional_id,
            producer_id=transaction.producer_id,
            transaction_state=transaction.state.label,
        )
        for transactional_id, transaction in store.committed_items()
        if wanted(transaction)
    ]


def described(store: TransactionStore, transactional_id: str) -> DescribedTransaction:
    """One transactional id, or that there is none."""
    transaction = store.committed(transactional_id)
    if transaction is None or transaction.state == TxnState.DEAD:
        return DescribedTransaction(
            transactional_id=transactional_id, error_code=int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        )
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[TopicData(topic=topic, partitions=indexes) for topic, indexes in topics.items()],
    )
