"""A planted mistake: readers of committed records are not told which transactions of `ledger` were aborted, and so are
given their records too. Nodes start with this on PYTHONPATH."""

from __future__ import annotations

from tapelog.log.log import Log
from tapelog.log.txn_index import AbortedTransaction

_told = Log.aborted_transactions


def aborted_transactions(self: Log, start: int, upper: int) -> list[AbortedTransaction]:
    """None were, they say."""
    return [] if "/ledger-" in self.directory else _told(self, start, upper)


Log.aborted_transactions = aborted_transactions  # type: ignore[method-assign]
