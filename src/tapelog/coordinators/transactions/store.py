"""The hard state of one shard of transactions: what the log says, and nothing else.

`replay` is its only mutator. Uncommitted changes can be taken back through the journal.
"""

from __future__ import annotations

from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.coordinators.transactions.records import transaction_of, transaction_record
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.wire.records.transaction_log_key import TransactionLogKey
from tapelog.wire.records.transaction_log_value import TransactionLogValue


class TransactionStore:
    """Transactions by transactional id, and which of them are ongoing."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._transactions: Timeline[str, Transaction] = Timeline(self.journal)
        self._ongoing: dict[str, None] = {}

    def get(self, transactional_id: str) -> Transaction | None:
        """The newest state, committed or not."""
        return self._transactions.get(transactional_id)

    def committed(self, transactional_id: str) -> Transaction | None:
        """The state as of the high watermark."""
        return self._transactions.committed(transactional_id)

    def committed_items(self) -> list[tuple[str, Transaction]]:
        """Every id and its committed state, in order."""
        return sorted(self._transactions.committed_items(), key=lambda item: item[0])

    def committed_ending(self) -> list[tuple[str, Transaction]]:
        """Those whose committed state is a decision that is not carried out yet, in order."""
        return sorted((name, found) for name, found in self._transactions.committed_items() if found.ending)

    def items(self) -> list[tuple[str, Transaction]]:
        """Every id and its newest state, in order."""
        return sorted(self._transactions.items(), key=lambda item: item[0])

    def ongoing(self) -> list[str]:
        """The ids whose newest state is Ongoing, in order."""
        return sorted(self._ongoing)

    def replay(self, offset: int, record: CoordinatorRecord) -> Transaction | None:
        """Apply the record that stands in the log at offset; what the id is now."""
        key, value = record.key, record.value
        assert isinstance(key, TransactionLogKey), f"nobody replays {key!r}"
        if value is None:
            self._transactions.remove(offset, key.transactional_id)
            self._ongoing.pop(key.transactional_id, None)
            return None
        assert isinstance(value, TransactionLogValue)
        transaction = transaction_of(value)
        self._transactions.put(offset, key.transactional_id, transaction)
        self._classify(key.transactional_id, transaction)
        return transaction

    def commit(self, offset: int) -> None:
        """Records below offset are committed."""
        self.journal.commit(offset)

    def revert(self, offset: int) -> list[str]:
        """Records at or after offset never happened; the ids that changed back, in order."""
        changed: list[str] = sorted(set(self.journal.revert(offset)))
        for transactional_id in changed:
            self._classify(transactional_id, self.get(transactional_id))
        return changed

    def live_keys(self) -> list[object]:
        """A name for every live record."""
        return [transactional_id for transactional_id, _ in self._transactions.items()]

    def live_record(self, key: object) -> CoordinatorRecord | None:
        """The record that restores what the key names; None if it is gone."""
        assert isinstance(key, str)
        transaction = self.get(key)
        return None if transaction is None else transaction_record(key, transaction)

    def snapshot(self) -> object:
        """A comparable picture of everything."""
        return dict(self.items())

    def invariants(self) -> None:
        """What must hold between any two operations."""
        ongoing = [name for name, transaction in self.items() if transaction.state == TxnState.ONGOING]
        assert ongoing == self.ongoing(), "the index of ongoing transactions is right"
        for name, transaction in self.items():
            assert transaction.producer_id >= 0 and transaction.producer_epoch >= 0, f"{name} has a producer"
            assert not (transaction.partitions and transaction.state == TxnState.EMPTY), f"{name} is empty"

    def _classify(self, transactional_id: str, transaction: Transaction | None) -> None:
        if transaction is not None and transaction.state == TxnState.ONGOING:
            self._ongoing[transactional_id] = None
        else:
            self._ongoing.pop(transactional_id, None)
