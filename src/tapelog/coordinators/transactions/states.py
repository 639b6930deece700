"""The states of a transactional id, which may follow which, and the transaction itself as an immutable value.

A `Transaction` is what the log says of one transactional id. Every change goes through `Transaction.moved`, which
refuses what `NEXT_STATES` does not allow; so an illegal transition is a bug found at once, never a record.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1

EPOCH_MAX: Final = 32767
"""The last epoch of a producer id. It is kept for fencing and for markers: no client ever gets it."""

TWO_PHASE_TIMEOUT_MS: Final = 2_147_483_647
"""The timeout that means none: somebody outside decides how the transaction ends."""

EPOCH_BUMP_FROM: Final = 2
"""From this transaction version on every end of a transaction raises the epoch."""


class TxnState(IntEnum):
    """Kafka's names and numbers."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that clients see."""
        return LABELS[self]


LABELS: Final[dict[TxnState, str]] = {
    TxnState.EMPTY: "Empty",
    TxnState.ONGOING: "Ongoing",
    TxnState.PREPARE_COMMIT: "PrepareCommit",
    TxnState.PREPARE_ABORT: "PrepareAbort",
    TxnState.COMPLETE_COMMIT: "CompleteCommit",
    TxnState.COMPLETE_ABORT: "CompleteAbort",
    TxnState.DEAD: "Dead",
    TxnState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}

_AT_REST: Final = frozenset({TxnState.EMPTY, TxnState.ONGOING, TxnState.PREPARE_ABORT, TxnState.DEAD})

NEXT_STATES: Final[dict[TxnState, frozenset[TxnState]]] = {
    TxnState.EMPTY: _AT_REST,
    TxnState.ONGOING: frozenset(
        {TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT, TxnState.PREPARE_EPOCH_FENCE}
    ),
    TxnState.PREPARE_EPOCH_FENCE: frozenset({TxnState.PREPARE_ABORT}),
    TxnState.PREPARE_COMMIT: frozenset({TxnState.COMPLETE_COMMIT}),
    TxnState.PREPARE_ABORT: frozenset({TxnState.COMPLETE_ABORT}),
    TxnState.COMPLETE_COMMIT: _AT_REST,
    TxnState.COMPLETE_ABORT: _AT_REST,
    TxnState.DEAD: frozenset(),
}
"""Which state may follow which. Dead is a tombstone, PrepareEpochFence lasts no longer than one step: neither is ever
written."""

ENDING: Final = frozenset({TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT})
"""Decided, and not yet said everywhere."""

EXPIRABLE: Final = frozenset({TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})
"""Nothing is lost when an id in such a state is forgotten."""


class IllegalTransitionError(AssertionError):
    """A handler wanted a step that the table does not have."""


class Transaction(NamedTuple):
    """Everything durable about one transactional id.

    `next_producer_id` and `next_producer_epoch` are what the client goes on with when the transaction is over, if that
    is another pair than the one its records and markers have: a new id after the last epoch, or a new owner that keeps
    an ongoing transaction (KIP-939) and may only end it.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TxnState
    updated_ms: int
    started_ms: int = NO_TIMESTAMP
    partitions: frozenset[tuple[str, int]] = frozenset()
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    next_producer_epoch: int = NO_PRODUCER_EPOCH
    client_version: int = 0

    def moved(self, state: TxnState, now_ms: int, **changes: Any) -> Transaction:
        """The transaction in its next state; the producer id it had is remembered as the previous one."""
        if state not in NEXT_STATES[self.state]:
            raise IllegalTransitionError(f"{self.state.label} is never followed by {state.label}")
        changed = {"previous_producer_id": self.producer_id, **changes}
        return self._replace(state=state, updated_ms=now_ms, **changed)

    @property
    def owner(self) -> tuple[int, int]:
        """The producer id and epoch by which the client is known."""
        if self.next_producer_id == NO_PRODUCER_ID:
            return self.producer_id, self.producer_epoch
        return self.next_producer_id, max(0, self.next_producer_epoch)

    @property
    def kept(self) -> bool:
        """An ongoing transaction of a former owner: nothing is added to it any more."""
        return self.state == TxnState.ONGOING and self.next_producer_id != NO_PRODUCER_ID

    @property
    def ending(self) -> bool:
        """It is decided how it ends, and markers are on their way."""
        return self.state in ENDING

    @property
    def exhausted(self) -> bool:
        """The client cannot be given a higher epoch: the last one is for fencing."""
        return self.owner[1] >= EPOCH_MAX - 1

    @property
    def two_phase(self) -> bool:
        """It never times out."""
        return self.timeout_ms == TWO_PHASE_TIMEOUT_MS
