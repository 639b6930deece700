"""The table of states."""

from __future__ import annotations

import pytest

from tapelog.coordinators.transactions.states import (
    EPOCH_MAX,
    EXPIRABLE,
    LABELS,
    NEXT_STATES,
    TWO_PHASE_TIMEOUT_MS,
    IllegalTransitionError,
    Transaction,
    TxnState,
)


def transaction(state: TxnState = TxnState.EMPTY, epoch: int = 0, timeout_ms: int = 1000) -> Transaction:
    return Transaction(producer_id=7, producer_epoch=epoch, timeout_ms=timeout_ms, state=state, updated_ms=1)


@pytest.mark.parametrize("before", TxnState)
@pytest.mark.parametrize("after", TxnState)
def test_only_what_the_table_has_is_allowed(before: TxnState, after: TxnState) -> None:
    if after in NEXT_STATES[before]:
        moved = transaction(before).moved(after, 5, producer_id=8)
        assert (moved.state, moved.updated_ms, moved.producer_id, moved.previous_producer_id) == (after, 5, 8, 7)
    else:
        with pytest.raises(IllegalTransitionError, match=f"{before.label} is never followed by {after.label}"):
            transaction(before).moved(after, 5)


def test_the_table_is_that_of_kafka() -> None:
    before = {state: {LABELS[b] for b, after in NEXT_STATES.items() if state in after} for state in TxnState}
    at_rest = {"Empty", "CompleteCommit", "CompleteAbort"}
    assert before == {
        TxnState.EMPTY: at_rest,
        TxnState.ONGOING: at_rest | {"Ongoing"},
        TxnState.PREPARE_COMMIT: {"Ongoing"},
        TxnState.PREPARE_ABORT: at_rest | {"Ongoing", "PrepareEpochFence"},
        TxnState.COMPLETE_COMMIT: {"PrepareCommit"},
        TxnState.COMPLETE_ABORT: {"PrepareAbort"},
        TxnState.DEAD: at_rest,
        TxnState.PREPARE_EPOCH_FENCE: {"Ongoing"},
    }
    assert {state.label for state in EXPIRABLE} == at_rest


def test_the_last_epoch_is_kept_for_fencing() -> None:
    assert not transaction(epoch=EPOCH_MAX - 2).exhausted
    assert transaction(epoch=EPOCH_MAX - 1).exhausted


def test_two_phase_transactions_are_known_by_their_timeout() -> None:
    assert transaction(timeout_ms=TWO_PHASE_TIMEOUT_MS).two_phase
    assert not transaction(timeout_ms=900_000).two_phase
