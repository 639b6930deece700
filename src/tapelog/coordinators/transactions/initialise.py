"""InitProducerId with a transactional id: who owns the id from now on, and what becomes of its transaction.

A new owner gets the next epoch, which fences the former one; an ongoing transaction is aborted first, and the new owner
asks again. It may also keep the transaction, to end it as somebody outside decides (KIP-939). An owner that names its
own producer id and epoch (KIP-360) raises its epoch after an error.
"""

from __future__ import annotations

from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.transactions.book import TransactionBook, Verdict
from tapelog.coordinators.transactions.ending import fenced
from tapelog.coordinators.transactions.records import transaction_record
from tapelog.coordinators.transactions.states import (
    EPOCH_MAX,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Transaction,
    TxnState,
)
from tapelog.wire.errors import ErrorCode


def initialise(
    book: TransactionBook,
    transactional_id: str,
    timeout_ms: int,
    expected: tuple[int, int] | None,
    keep: bool,
    spare_id: int | None,
) -> Outcome[Verdict]:
    """Give the id to whoever asks. `expected` is the producer id and epoch the client has, if it says so; `keep` leaves
    an ongoing transaction as it is."""
    current = book.find(transactional_id)
    if current is None:
        return _created(book, transactional_id, timeout_ms, spare_id)
    if current.ending:
        return Outcome([], Verdict(ErrorCode.CONCURRENT_TRANSACTIONS))
    if expected is not None and not _known(current, expected):
        return Outcome([], Verdict(ErrorCode.PRODUCER_FENCED))
    if current.state == TxnState.ONGOING:
        if expected is not None and expected != current.owner:
            return Outcome([], Verdict(ErrorCode.PRODUCER_FENCED))
        if keep:
            return _kept(book, transactional_id, current, timeout_ms, spare_id)
        aborting = fenced(book, transactional_id, current)
        record = transaction_record(transactional_id, aborting)
        return Outcome([record], Verdict(ErrorCode.CONCURRENT_TRANSACTIONS))
    if current.exhausted:
        return _rotated(book, transactional_id, current, timeout_ms, expected, spare_id)
    return _raised(book, transactional_id, current, timeout_ms, expected)


def _known(current: Transaction, expected: tuple[int, int]) -> bool:
    """Whether the client's id is the present one, or the former one at the end of its epochs (a repeated request)."""
    producer_id, epoch = expected
    return producer_id == current.owner[0] or (producer_id == current.previous_producer_id and epoch >= EPOCH_MAX - 1)


def _created(book: TransactionBook, transactional_id: str, timeout_ms: int, spare_id: int | None) -> Outcome[Verdict]:
    """A transactional id nobody used before, or not for long: any producer may have it."""
    if spare_id is None:
        return Outcome([], Verdict(needs_producer_id=True))
    created = Transaction(
        producer_id=spare_id,
        producer_epoch=0,
        timeout_ms=timeout_ms,
        state=TxnState.EMPTY,
        updated_ms=book.now_ms(),
        previous_producer_id=spare_id,
    )
    return _given(book, transactional_id, created, NO_PRODUCER_EPOCH)


def _kept(
    book: TransactionBook, transactional_id: str, current: Transaction, timeout_ms: int, spare_id: int | None
) -> Outcome[Verdict]:
    """A new owner for a transaction that stays open: former owners are fenced, its records and markers are not."""
    if current.exhausted and spare_id is None:
        return Outcome([], Verdict(needs_producer_id=True))
    owner_id, owner_epoch = current.owner
    given = (spare_id, 0) if current.exhausted else (owner_id, owner_epoch + 1)
    kept = current.moved(
        TxnState.ONGOING,
        book.now_ms(),
        timeout_ms=timeout_ms,
        next_producer_id=given[0],
        next_producer_epoch=given[1],
    )
    ongoing = (current.producer_id, current.producer_epoch)
    return Outcome([transaction_record(transactional_id, kept)], Verdict(ErrorCode.NONE, *kept.owner, ongoing=ongoing))


def _rotated(
    book: TransactionBook,
    transactional_id: str,
    current: Transaction,
    timeout_ms: int,
    expected: tuple[int, int] | None,
    spare_id: int | None,
) -> Outcome[Verdict]:
    """No epoch is left: go on with a new producer id, from epoch 0."""
    if expected is not None and expected[1] != current.producer_epoch:
        return Outcome([], Verdict(ErrorCode.PRODUCER_FENCED))
    if spare_id is None:
        return Outcome([], Verdict(needs_producer_id=True))
    rotated = _emptied(book, current, timeout_ms, spare_id, 0)
    last_epoch = current.producer_epoch if expected is not None else NO_PRODUCER_EPOCH
    return _given(book, transactional_id, rotated, last_epoch)


def _raised(
    book: TransactionBook,
    transactional_id: str,
    current: Transaction,
    timeout_ms: int,
    expected: tuple[int, int] | None,
) -> Outcome[Verdict]:
    """The next epoch; or the present one again, for a client that missed the answer to the same request."""
    epoch = current.producer_epoch
    last_epoch = book.last_epoch(transactional_id, current)
    if expected is None:
        epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif expected[1] == epoch:
        epoch, last_epoch = epoch + 1, epoch
    elif expected[1] != last_epoch:
        return Outcome([], Verdict(ErrorCode.PRODUCER_FENCED))
    return _given(book, transactional_id, _emptied(book, current, timeout_ms, current.producer_id, epoch), last_epoch)


def _emptied(
    book: TransactionBook, current: Transaction, timeout_ms: int, producer_id: int, producer_epoch: int
) -> Transaction:
    return current.moved(
        TxnState.EMPTY,
        book.now_ms(),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timeout_ms=timeout_ms,
        started_ms=NO_TIMESTAMP,
        partitions=frozenset(),
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_PRODUCER_EPOCH,
    )


def _given(book: TransactionBook, transactional_id: str, given: Transaction, last_epoch: int) -> Outcome[Verdict]:
    book.raised(transactional_id, given, last_epoch)
    verdict = Verdict(producer_id=given.producer_id, producer_epoch=given.producer_epoch)
    return Outcome([transaction_record(transactional_id, given)], verdict)
