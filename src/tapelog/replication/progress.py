"""What a leader knows of one follower: how far its disk is, and when it last had everything.

A follower's fetch offset is its claim: everything below it is durable there (`page_cache` topics: written). Claims are
only counted in the leader epoch they were made in; each new epoch starts without any.
"""

from __future__ import annotations

from typing import Final

UNKNOWN_END: Final = -1
NEVER: Final = -(1 << 62)
NO_EPOCH: Final = -1
"""A fetch of a version that carries no broker epoch: it is believed."""
UNHEARD: Final = -2
"""The replica has not fetched in this leader epoch."""


class Replica:
    """One follower, as of its last fetch."""

    def __init__(self, id: int, in_sync: bool, now_ms: int) -> None:
        self.id = id
        self.end = UNKNOWN_END
        self.start = UNKNOWN_END
        self.broker_epoch = UNHEARD
        self.counted = in_sync
        """In the maximal ISR: the high watermark waits for it."""
        self.caught_up_ms = now_ms if in_sync else NEVER
        """The last time at which it is known to have had everything the leader had."""
        self._fetched_ms = NEVER
        self._leader_end = UNKNOWN_END

    def fetched(self, offset: int, start_offset: int, broker_epoch: int, leader_end: int, now_ms: int) -> None:
        """Its fetch from offset arrived while the leader's log ended at leader_end."""
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self._leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)
        self._leader_end = max(self._leader_end, leader_end)
        self._fetched_ms = now_ms
        self.end = offset
        self.start = start_offset
        self.broker_epoch = broker_epoch

    def caught_up(self, leader_end: int, now_ms: int, lag_ms_max: int) -> bool:
        """It has all of the leader's log, or had it not too long ago."""
        return self.end == leader_end or now_ms - self.caught_up_ms <= lag_ms_max

    def eligible(self, alive: dict[int, int]) -> bool:
        """It may be asked into the ISR: its broker lives, and is the one that fetched (KIP-903)."""
        epoch = alive.get(self.id)
        return epoch is not None and self.broker_epoch in (epoch, NO_EPOCH)

    def stale(self, broker_epoch: int, alive: dict[int, int]) -> bool:
        """A fetch with this broker epoch was sent before the broker registered anew: it claims what may be lost."""
        return broker_epoch != NO_EPOCH and alive.get(self.id, NO_EPOCH) > broker_epoch
