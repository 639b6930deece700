"""The transaction coordinator's records as bytes, in Kafka's schema (TransactionLogKey, TransactionLogValue version 1).

A key starts with its version, a value with its own; so Kafka's log dumper reads `__transaction_state` of ours.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.wire.primitives import Reader, WireError, Writer
from tapelog.wire.records.transaction_log_key import TransactionLogKey
from tapelog.wire.records.transaction_log_value import PartitionsSchema, TransactionLogValue

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 1
"""The flexible one, which transaction versions 1 and 2 write."""


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """The record's key and value as they stand in the log. WireError if a field does not fit."""
    w = Writer()
    w.i16(KEY_VERSION)
    record.key.encode(w, KEY_VERSION)
    key = w.tobytes()
    if record.value is None:
        return key, None
    w = Writer()
    w.i16(record.value_version)
    record.value.encode(w, record.value_version)
    return key, w.tobytes()


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """A record from the log; None if it is of a version from the future. WireError if it is damaged."""
    r = Reader(key, 0, len(key))
    if r.i16() != KEY_VERSION:
        return None
    named = TransactionLogKey.decode(r, KEY_VERSION)
    if value is None:
        return CoordinatorRecord(named, None)
    r = Reader(value, 0, len(value))
    version = r.i16()
    if not TransactionLogValue.MIN_VERSION <= version <= TransactionLogValue.MAX_VERSION:
        return None
    return CoordinatorRecord(named, TransactionLogValue.decode(r, version), version)


def transaction_record(transactional_id: str, transaction: Transaction) -> CoordinatorRecord:
    """The transaction as it is from now on."""
    assert transaction.state not in (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE), "these are never written"
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=int(transaction.state),
        transaction_partitions=None if transaction.state == TxnState.EMPTY else _by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        client_transaction_version=transaction.client_version,
        next_producer_epoch=transaction.next_producer_epoch,
    )
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), value, VALUE_VERSION)


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    """The transactional id is forgotten."""
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def transaction_of(value: TransactionLogValue) -> Transaction:
    """The transaction that a value describes. WireError if its state is none."""
    try:
        state = TxnState(value.transaction_status)
    except ValueError as error:
        raise WireError(f"a transaction has no state {value.transaction_status}") from error
    return Transaction(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        updated_ms=value.transaction_last_update_timestamp_ms,
        started_ms=value.transaction_start_timestamp_ms,
        partitions=frozenset(
            (part.topic, index) for part in value.transaction_partitions or () for index in part.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        client_version=value.client_transaction_version,
    )


def _by_topic(transaction: Transaction) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in topics.items()]
