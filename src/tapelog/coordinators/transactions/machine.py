"""The transaction coordinator's machine for one partition of `__transaction_state`.

The runtime drives it; the facade (`coordinator.TransactionCoordinator`) calls the handlers with its `book`. On its own
it completes what is decided, aborts what takes too long, and forgets what nobody uses.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, ShardContext
from tapelog.coordinators.transactions.book import TransactionBook
from tapelog.coordinators.transactions.completion import Completions
from tapelog.coordinators.transactions.config import TransactionConfig
from tapelog.coordinators.transactions.ending import fenced
from tapelog.coordinators.transactions.marker import MarkerWriter
from tapelog.coordinators.transactions.records import (
    decode_record,
    encode_record,
    transaction_record,
    transaction_tombstone,
)
from tapelog.coordinators.transactions.states import EXPIRABLE
from tapelog.coordinators.transactions.store import TransactionStore
from tapelog.wire.errors import ErrorCode
from tapelog.wire.records.transaction_log_key import TransactionLogKey

TIMEOUTS: Final = "timeouts"
EXPIRY: Final = "expiry"


class TransactionMachine:
    """State and soft state of the transactions of one shard."""

    def __init__(self, context: ShardContext, config: TransactionConfig, markers: MarkerWriter) -> None:
        self.store = TransactionStore()
        self.book = TransactionBook(self.store, config, context.clock)
        self.completions = Completions(self.store, context, markers, self.book.now_ms)
        self._context = context
        self._config = config
        self._ahead: dict[str, tuple[int, int]] = {}
        """Transactions that begin in the future, by our clock: when, and when that was first seen."""

    @property
    def state(self) -> TransactionStore:
        """The hard state."""
        return self.store

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log."""
        return encode_record(record)

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """A record from the log; None for versions from the future."""
        return decode_record(key, value)

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        """Decode and replay a record from the log."""
        record = decode_record(key, value)
        if record is not None:
            self.replay(offset, record, producer_id)

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = -1) -> None:
        """Apply one record."""
        transaction = self.store.replay(offset, record)
        assert isinstance(record.key, TransactionLogKey)
        self.completions.replayed(offset, record.key.transactional_id, transaction)

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        """Nobody writes to this topic within a transaction: a marker here means nothing."""

    def commit(self, offset: int) -> None:
        """Records below offset are committed."""
        self.store.commit(offset)
        self.completions.committed(offset)

    def revert(self, offset: int, error: ErrorCode) -> None:
        """Records at or after offset never happened."""
        self.completions.reverted(offset, self.store.revert(offset))

    def on_loaded(self) -> None:
        """Go on with what was decided before, and look at the clock from time to time."""
        self.completions.serve()
        self._context.set_deadline(TIMEOUTS, self._config.timeout_interval_ms, self._time_out)
        self._context.set_deadline(EXPIRY, self._config.expiry_interval_ms, self._expire)

    def on_unloaded(self) -> None:
        """Whoever coordinates these next goes on."""
        self.completions.stop()

    def live_keys(self) -> list[object]:
        """A name for every live record."""
        return self.store.live_keys()

    def live_record(self, key: object) -> CoordinatorRecord | None:
        """The record that restores what the key names."""
        return self.store.live_record(key)

    def live_count(self) -> int:
        """How many records are live."""
        return len(self.store.live_keys())

    def invariants(self) -> None:
        """What must hold between any two operations."""
        self.store.invariants()

    def _time_out(self) -> Outcome[None]:
        """Abort every transaction that has been open for longer than its client allowed."""
        self._context.set_deadline(TIMEOUTS, self._config.timeout_interval_ms, self._time_out)
        now_ms = self.book.now_ms()
        records: list[CoordinatorRecord] = []
        ahead, self._ahead = self._ahead, {}
        for transactional_id in self.store.ongoing():
            current = self.store.get(transactional_id)
            assert current is not None
            began_ms = current.started_ms
            if began_ms > now_ms:  # by a clock that was ahead; it must not stay open until ours is as late
                known, seen_ms = ahead.get(transactional_id, (began_ms, now_ms))
                seen_ms = min(seen_ms, now_ms) if known == began_ms else now_ms
                self._ahead[transactional_id] = began_ms, seen_ms
                began_ms = seen_ms
            if not current.two_phase and began_ms + current.timeout_ms < now_ms:
                records.append(transaction_record(transactional_id, fenced(self.book, transactional_id, current)))
        return Outcome(records, None, atomic=False)

    def _expire(self) -> Outcome[None]:
        """Forget every id that has not been used for long and has nothing under way."""
        self._context.set_deadline(EXPIRY, self._config.expiry_interval_ms, self._expire)
        unused_since_ms = self.book.now_ms() - self._config.expiration_ms
        records: list[CoordinatorRecord] = []
        for transactional_id, current in self.store.items():
            if current.state in EXPIRABLE and current.updated_ms <= unused_since_ms:
                self.book.forget(transactional_id)
                records.append(transaction_tombstone(transactional_id))
        return Outcome(records, None, atomic=False)
