"""Partitions of a transaction: added by the client or on its behalf, and verified before a write."""

from __future__ import annotations

from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.transactions.book import TransactionBook, owner_code
from tapelog.coordinators.transactions.records import transaction_record
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.wire.errors import ErrorCode

TopicPartition = tuple[str, int]


def add(
    book: TransactionBook,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: list[TopicPartition],
    version: int,
) -> Outcome[ErrorCode]:
    """Put the partitions into the producer's transaction, which begins with the first of them."""
    current = book.find(transactional_id)
    if current is not None and current.ending:
        # First of all: the client may already use the producer id that comes with the completion.
        return Outcome([], ErrorCode.CONCURRENT_TRANSACTIONS)
    code = _writer(current, producer)
    if current is None or code != ErrorCode.NONE:
        return Outcome([], code)
    ongoing = current.state == TxnState.ONGOING
    if ongoing and current.partitions.issuperset(partitions):
        return Outcome([], ErrorCode.NONE)
    now_ms = book.now_ms()
    added = current.moved(
        TxnState.ONGOING,
        now_ms,
        started_ms=current.started_ms if ongoing else now_ms,
        partitions=current.partitions.union(partitions),
        client_version=version,
    )
    return Outcome([transaction_record(transactional_id, added)], ErrorCode.NONE)


def verify(
    book: TransactionBook, transactional_id: str, producer: tuple[int, int], partitions: list[TopicPartition]
) -> Outcome[dict[TopicPartition, ErrorCode]]:
    """Whether each of the partitions is in the producer's ongoing transaction."""
    current = book.find(transactional_id)
    code = _writer(current, producer)
    if code == ErrorCode.NONE and current is not None and current.ending:
        code = ErrorCode.CONCURRENT_TRANSACTIONS
    if current is None or code != ErrorCode.NONE:
        return Outcome([], dict.fromkeys(partitions, code))
    missing = ErrorCode.TRANSACTION_ABORTABLE
    return Outcome([], {part: ErrorCode.NONE if part in current.partitions else missing for part in partitions})


def _writer(current: Transaction | None, producer: tuple[int, int]) -> ErrorCode:
    """NONE if this producer may write within the transaction: it owns it, and does not only keep it."""
    if current is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    code = owner_code(current, producer)
    return ErrorCode.INVALID_TXN_STATE if code == ErrorCode.NONE and current.kept else code
