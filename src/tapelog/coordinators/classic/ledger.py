"""How much memory the members of classic groups take by what they sent: bounded, whoever sends what.

A member's metadata stays in memory as long as the member does, and is written down only with its whole group. So a
group that could not be written any more takes nobody else in (GROUP_MAX_SIZE_REACHED), and a coordinator that holds
enough asks everybody new to come back later (COORDINATOR_NOT_AVAILABLE). Ids given out to members that have yet to join
with them are the other thing that costs a client nothing: only the newest of them are remembered.
"""

from __future__ import annotations

from typing import Final

GROUP_BYTES_MAX: Final = 8 * 1024 * 1024
"""What the members of one group may have sent, all their protocols together. With more than half of it in the protocol
that is chosen, a group cannot be written any more."""

COORDINATOR_BYTES_MAX: Final = 512 * 1024 * 1024
"""What the members of all classic groups of a coordinator may take."""

PENDING_MAX: Final = 5_000
"""Ids given out, per shard, that are remembered until their owners join with them."""

MEMBER_BYTES: Final = 1_000
"""About what a member takes beside its metadata."""


class Ledger:
    """What the classic groups of one coordinator hold, over all its shards."""

    __slots__ = ("held_bytes",)

    def __init__(self) -> None:
        self.held_bytes = 0

    @property
    def full(self) -> bool:
        """There is no room for new members."""
        return self.held_bytes >= COORDINATOR_BYTES_MAX
