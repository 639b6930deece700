"""What the offset handlers ask of a group, whatever its kind: who may commit, fetch and delete, and what may expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tapelog.base.ports import Clock
from tapelog.coordinators.config import GroupConfig
from tapelog.coordinators.offsets.store import OffsetStore
from tapelog.coordinators.outcome import CoordinatorRecord

PartitionCheck = Callable[[bytes, int], None]
"""Refuses a commit to one partition, by topic id and index, with a KafkaError."""


class OffsetOwner(Protocol):
    """A group as the owner of committed offsets. A refusal is a KafkaError."""

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool, api_version: int
    ) -> PartitionCheck | None:
        """May this member of this generation (or member epoch) commit? Generation -1 is somebody outside the group.

        None: it may. Otherwise it depends on the partition; one that is refused refuses the whole request.
        """
        ...

    def note_commit(self, member_id: str) -> None:
        """An ordinary commit of that member was accepted."""
        ...

    def check_fetch(self, member_id: str | None, member_epoch: int, committed_only: bool) -> None:
        """May this member fetch offsets? None and -1 is somebody who does not say."""
        ...

    def check_delete(self) -> None:
        """May offsets be deleted at all?"""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Somebody in the group reads the topic, so that its offsets stay."""
        ...

    def idle_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since when an offset committed then, in a topic nobody here reads, has been of no use; None: it is not."""
        ...

    @property
    def is_deserted(self) -> bool:
        """No members and none expected: with its last offset the group may go."""
        ...

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that end the group, apart from its offsets."""
        ...


class OffsetDesk:
    """What the offset handlers of one shard work with."""

    def __init__(
        self,
        store: OffsetStore,
        config: GroupConfig,
        clock: Clock,
        owner_of: Callable[[str], OffsetOwner | None],
    ) -> None:
        self.store = store
        self.config = config
        self.clock = clock
        self.owner_of = owner_of
        """The group of that name, of whatever kind; None if there is none."""
