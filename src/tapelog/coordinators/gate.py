"""The transaction gate: what must be asked before something is written on behalf of a transaction.

The transaction coordinator implements it; Produce asks it for ordinary partitions, TxnOffsetCommit for the partition of
`__consumer_offsets` that owns the group. Whoever asks waits for the answer before it writes.
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
