"""The transaction gate: what must be asked before something is written on behalf of a transaction.

The transaction coordinator implements it; Produce asks it for ordinary partitions, TxnOffsetCommit for the partition of
`__consumer_offsets` that owns the group. Whoever asks waits for the answer before it writes, and holds a guard
meanwhile: if the transaction's marker comes first, the write would begin a transaction that nobody ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tapelog.wire.errors import ErrorCode


class TransactionGate(Protocol):
    """Whether a producer's transaction covers partitions."""

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[tuple[str, int]],
        add: bool,
        done: Callable[[dict[tuple[str, int], ErrorCode]], None],
    ) -> None:
        """Answer once, for every partition, now or later.

        Without `add`: whether the partitions are in the producer's ongoing transaction. With `add` (transaction version
        2: Produce from version 12, TxnOffsetCommit from version 5) they are put into it if they are not; the answer
        comes when that is committed.
        """
        ...


class TransactionGuard:
    """Held while the gate is asked; broken once a marker of that producer was written in between, unless it ends a
    transaction of an older epoch: then the write belongs to the next one."""

    __slots__ = ("broken", "producer_epoch", "producer_id")

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.broken = False


class Guards:
    """The guards held in one partition."""

    def __init__(self) -> None:
        self._held: dict[int, list[TransactionGuard]] = {}

    def hold(self, producer_id: int, producer_epoch: int) -> TransactionGuard:
        """A guard for a write of that producer's transaction; let it go when the gate has answered."""
        guard = TransactionGuard(producer_id, producer_epoch)
        self._held.setdefault(producer_id, []).append(guard)
        return guard

    def let_go(self, guard: TransactionGuard) -> bool:
        """The gate has answered; whether the guard was still held here."""
        held = self._held.get(guard.producer_id, [])
        if guard not in held:
            return False
        held.remove(guard)
        if not held:
            del self._held[guard.producer_id]
        return True

    def break_up_to(self, producer_id: int, epoch: int) -> None:
        """A marker of that producer is being written, which ends a transaction of that epoch."""
        held = self._held.pop(producer_id, [])
        newer = [guard for guard in held if guard.producer_epoch > epoch]
        if newer:
            self._held[producer_id] = newer
        for guard in held:
            guard.broken = guard.producer_epoch <= epoch

    def __len__(self) -> int:
        return len(self._held)
