"""Damaged batches are got back from the tier: the same offsets, as they were when they went up.

For `node.repair`, which checks and writes them. A log in the tier is never compacted, so what lies there has the same
bytes. Loaded when there is a tier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError
from tapelog.log.scrub import Damage
from tapelog.log.tier.pieces import Awaited, NotHereError, Waiter
from tapelog.replication.partition import Partition
from tapelog.server.tier import TierReading
from tapelog.wire.errors import KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

TIMEOUT_MS: Final = 60_000
"""So long the tier is waited for."""


class TierRange(Waiter):
    """The batches of one damaged range; done gets them, or nothing if the tier does not have them or does not say."""

    def __init__(
        self,
        node: NodeCore,
        reads: TierReading,
        partition: Partition,
        damage: Damage,
        done: Callable[[bytes], None],
    ) -> None:
        self._reads = reads
        self._partition = partition
        self._damage = damage
        self._done = done
        self._got = b""
        self._next = damage.first_offset
        self._waits_for: Awaited | None = None
        self._over = False
        self._timer = node.timers.after(TIMEOUT_MS, lambda: self._end(b""))

    def tier_moved(self) -> None:
        """Take what is here, and wait for the rest."""
        damage = self._damage
        wanted = damage.end - damage.position
        while not self._over:
            try:
                region = self._reads.read(
                    self._partition, self._next, wanted - len(self._got), damage.next_offset, True
                )
            except NotHereError as missing:
                self._waits_for = missing.piece
                missing.piece.waiters[self] = None
                return
            except (KafkaError, DiskError):
                region = None
            if region is None or region.size > wanted - len(self._got):
                self._end(b"")
                return
            self._got += region.read()
            self._next = region.next_offset
            if self._next >= damage.next_offset:
                self._end(self._got)

    def _end(self, batches: bytes) -> None:
        if self._over:
            return
        self._over = True
        self._timer.cancel()
        if self._waits_for is not None:
            self._waits_for.waiters.pop(self, None)
        self._done(batches)
