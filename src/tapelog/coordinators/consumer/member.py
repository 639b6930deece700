"""A member of a consumer group as its records tell it: what it wants, and what it owns. Frozen values.

`MemberMetadata` is what the member says of itself, `CurrentAssignment` how far it has been brought towards its
target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

STABLE: Final = 0
UNREVOKED_PARTITIONS: Final = 1
UNRELEASED_PARTITIONS: Final = 2
UNKNOWN: Final = 127
"""A member's states, as numbered in its record. Whatever has another number is treated as unknown."""

STATES: Final = (STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS)

JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
STATIC_LEAVING_EPOCH: Final = -2
"""Member epochs that are not epochs: somebody joins, leaves for good, or leaves and will be back (static members)."""

Owned = Mapping[bytes, Mapping[int, int]]
"""Topic id to partition to the assignment epoch in which the member got it; no topic without partitions."""

NOTHING: Final[Owned] = {}


class ClassicMetadata(NamedTuple):
    """What a member that speaks the classic protocol inside a consumer group brought along."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Names with their metadata, the preferred one first."""


class MemberMetadata(NamedTuple):
    """Who a member is and what it wants to read."""

    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: frozenset[str] = frozenset()
    regex: str = ""
    """'' where it has none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None


class CurrentAssignment(NamedTuple):
    """What a member owns, in which epoch, and what it still has to give back."""

    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING

    def is_reconciled_to(self, epoch: int) -> bool:
        """Nothing is left to do for it towards the target of that epoch."""
        return self.state == STABLE and self.epoch == epoch

    def epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch in which the member got that partition; None if it does not own it, not even to give it back."""
        found = self.assigned.get(topic_id, {}).get(partition)
        return self.revoking.get(topic_id, {}).get(partition) if found is None else found


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, at a version of the cluster's metadata and a time."""

    topics: frozenset[str]
    version: int = -1
    timestamp_ms: int = -1


NEW_MEMBER: Final = CurrentAssignment()


def partitions_of(owned: Owned) -> list[tuple[bytes, int]]:
    """Every partition in it, one by one."""
    return [(topic_id, partition) for topic_id, partitions in owned.items() for partition in partitions]
