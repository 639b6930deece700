"""The random walks of a log's transactions notice what is wrong. Interpreted only: compiled code cannot be replaced."""

from __future__ import annotations

import pytest

from tapelog.log.producer_state import ProducerState
from tapelog.log.txn_index import TransactionIndex
from tests.properties.test_log_transactions import run_seed


def caught_by(seeds: int) -> int:
    """How many walks notice that something is wrong."""
    caught = 0
    for seed in range(seeds):
        try:
            run_seed(seed, 200)
        except AssertionError:
            caught += 1
    return caught


def test_an_aborted_transaction_left_out_of_the_index_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the index of aborted transactions forgets every second entry."""
    entries = TransactionIndex.append

    def forgetful(self: TransactionIndex, aborted: object) -> None:
        if getattr(aborted, "last_offset", 0) % 2:
            entries(self, aborted)  # type: ignore[arg-type]

    monkeypatch.setattr(TransactionIndex, "append", forgetful)
    assert caught_by(6) == 6


def test_a_transaction_that_survives_a_failed_write_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: taking back a write leaves the transactions as they are."""
    undo = ProducerState.undo

    def careless(self: ProducerState) -> None:
        self._undo_txns = None
        undo(self)

    monkeypatch.setattr(ProducerState, "undo", careless)
    assert caught_by(10) >= 8
