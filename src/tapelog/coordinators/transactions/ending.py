"""The end of a transaction: EndTxn in both transaction versions, fencing, and what stands when all markers are written.

With version 1 the epoch stays; the same request repeated is recognised by the state. With version 2 every end raises
the epoch, so a repeated request is one that still names the epoch before; and an abort may come before anything was
added. When the epochs of a producer id are used up, the next transaction has a new one.
"""

from __future__ import annotations

from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.transactions.book import TransactionBook, Verdict, owner_code
from tapelog.coordinators.transactions.records import transaction_record
from tapelog.coordinators.transactions.states import (
    EPOCH_BUMP_FROM,
    EPOCH_MAX,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TxnState,
)
from tapelog.wire.errors import ErrorCode


def end(
    book: TransactionBook,
    transactional_id: str,
    producer: tuple[int, int],
    commit: bool,
    version: int,
    spare_id: int | None,
) -> Outcome[Verdict]:
    """EndTxn by the client that has this producer id and epoch, speaking that transaction version."""
    current = book.find(transactional_id)
    if current is None:
        return Outcome([], Verdict(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    if version < EPOCH_BUMP_FROM:
        return _end_by_state(book, transactional_id, current, producer, commit)
    return _end_by_epoch(book, transactional_id, current, producer, commit, spare_id)


def fenced(book: TransactionBook, transactional_id: str, current: Transaction) -> Transaction:
    """The ongoing transaction is aborted, and whoever began it cannot go on: its epoch is raised. Nobody is told this
    epoch; it may be the last one."""
    now_ms = book.now_ms()
    epoch = min(current.producer_epoch + 1, EPOCH_MAX)
    owner_epoch = min(current.owner[1] + 1, EPOCH_MAX) if current.kept else NO_PRODUCER_EPOCH
    fence = current.moved(TxnState.PREPARE_EPOCH_FENCE, now_ms, producer_epoch=epoch, next_producer_epoch=owner_epoch)
    aborting = fence.moved(TxnState.PREPARE_ABORT, now_ms, client_version=EPOCH_BUMP_FROM)
    book.raised(transactional_id, aborting, current.owner[1])
    return aborting


def completed(current: Transaction, now_ms: int) -> Transaction:
    """All markers are written: what the next transaction starts from."""
    assert current.ending
    commits = current.state == TxnState.PREPARE_COMMIT
    producer_id, epoch = current.owner
    return current.moved(
        TxnState.COMPLETE_COMMIT if commits else TxnState.COMPLETE_ABORT,
        now_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        partitions=frozenset(),
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_PRODUCER_EPOCH,
    )


def _end_by_state(
    book: TransactionBook, transactional_id: str, current: Transaction, producer: tuple[int, int], commit: bool
) -> Outcome[Verdict]:
    """Transaction version 1."""
    code = owner_code(current, producer)
    if code != ErrorCode.NONE:
        return Outcome([], Verdict(code))
    if current.ending:
        return Outcome([], Verdict(ErrorCode.CONCURRENT_TRANSACTIONS))
    if current.state == TxnState.ONGOING:
        prepared = current.moved(_prepared_state(commit), book.now_ms(), client_version=0)
        return Outcome([transaction_record(transactional_id, prepared)], Verdict())
    if current.state == (TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT):
        return Outcome([], Verdict())
    return Outcome([], Verdict(ErrorCode.INVALID_TXN_STATE))


def _end_by_epoch(
    book: TransactionBook,
    transactional_id: str,
    current: Transaction,
    producer: tuple[int, int],
    commit: bool,
    spare_id: int | None,
) -> Outcome[Verdict]:
    """Transaction version 2."""
    if current.ending:
        # First of all: the client may already use the producer id that comes with the completion.
        return Outcome([], Verdict(ErrorCode.CONCURRENT_TRANSACTIONS))
    producer_id, epoch = producer
    owner_id, owner_epoch = current.owner
    at_rest = current.state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
    rotated = (
        at_rest
        and producer_id != owner_id
        and producer_id == current.previous_producer_id
        and epoch == EPOCH_MAX - 1
        and owner_epoch == 0
    )
    # The last epoch is nobody's: whoever was fenced with it begins anew. A marker of it could not end a transaction.
    raised = producer_id == owner_id and epoch + 1 == owner_epoch < EPOCH_MAX
    repeated = rotated or (at_rest and raised)
    code = ErrorCode.NONE if repeated else owner_code(current, producer)
    if code != ErrorCode.NONE:
        return Outcome([], Verdict(code))
    if repeated:
        same = commit == (current.state == TxnState.COMPLETE_COMMIT)
        if not same:
            return Outcome([], Verdict(ErrorCode.INVALID_TXN_STATE))
        return Outcome([], Verdict(ErrorCode.NONE, owner_id, owner_epoch))
    if commit and current.state != TxnState.ONGOING:
        return Outcome([], Verdict(ErrorCode.INVALID_TXN_STATE))
    return _prepare(book, transactional_id, current, commit, spare_id)


def _prepare(
    book: TransactionBook, transactional_id: str, current: Transaction, commit: bool, spare_id: int | None
) -> Outcome[Verdict]:
    """Decide how the transaction ends, under the next epoch. Its owner gets another one, if it only kept it."""
    if current.exhausted and spare_id is None:
        return Outcome([], Verdict(needs_producer_id=True))
    now_ms = book.now_ms()
    going_on = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    if current.exhausted and spare_id is not None:
        going_on = (spare_id, NO_PRODUCER_EPOCH)
    elif current.kept:
        going_on = (current.owner[0], current.owner[1] + 1)
    prepared = current.moved(
        _prepared_state(commit),
        now_ms,
        producer_epoch=min(current.producer_epoch + 1, EPOCH_MAX),
        next_producer_id=going_on[0],
        next_producer_epoch=going_on[1],
        started_ms=current.started_ms if current.state == TxnState.ONGOING else now_ms,
        client_version=EPOCH_BUMP_FROM,
    )
    book.raised(transactional_id, prepared, current.owner[1])
    return Outcome([transaction_record(transactional_id, prepared)], Verdict(ErrorCode.NONE, *prepared.owner))


def _prepared_state(commit: bool) -> TxnState:
    return TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT
