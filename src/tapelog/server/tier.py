"""What handlers ask of the tier. `node.tier_reads` answers, where a node has one.

Each call may raise NotHereError (`log.tier.pieces`): then what is missing is on its way, and the caller waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.log.txn_index import AbortedTransaction
from tapelog.replication.partition import Partition

if TYPE_CHECKING:
    from tapelog.log.tier.reading import RemoteRegion
    from tapelog.log.timestamps import Found
    from tapelog.log.trim import Seed


class TierReading:
    """Reading below what a node has itself."""

    def read(self, partition: Partition, offset: int, max_bytes: int, upper: int, min_one: bool) -> RemoteRegion | None:
        """Whole batches from the one that holds offset on, as `Log.read`."""
        raise NotImplementedError

    def first_with_records(self, partition: Partition, offset: int, upper: int) -> int:
        """From where to read for a consumer that asks for offset: the next offset that a batch with records holds;
        where this node's own log begins, or behind it, if the tier has none before upper."""
        raise NotImplementedError

    def aborted(self, partition: Partition, start: int, upper: int) -> list[AbortedTransaction]:
        """Aborted transactions that have records in [start, upper)."""
        raise NotImplementedError

    def first_at_or_after(self, partition: Partition, timestamp: int) -> Found | None:
        """(timestamp, offset, leader epoch) of the first record of the whole log at least as late."""
        raise NotImplementedError

    def greatest(self, partition: Partition) -> Found | None:
        """The same of the first record that has the greatest timestamp."""
        raise NotImplementedError

    def seed(
        self, partition: Partition, log_start: int, local_start: int, done: Callable[[tuple[int, Seed] | None], None]
    ) -> None:
        """For a replica whose leader begins in the tier, and itself at local_start: from which offset on the replica
        can go on itself, and what it must know of what is below. None if the tier does not tell. Never raises."""
        raise NotImplementedError

    def learn(self, partition: Partition) -> None:
        """Have a follower learn what of its log is in the tier by now. Never raises."""
        raise NotImplementedError

    def forget(self, partition: Partition) -> None:
        """It is held here no more."""
        raise NotImplementedError
