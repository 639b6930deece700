"""A consumer group as the owner of offsets: who may commit, fetch and delete, and what may expire."""

from __future__ import annotations

from tapelog.coordinators.consumer.commits import check_commit, check_fetch
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import tombstones
from tapelog.coordinators.offsets.owner import PartitionCheck
from tapelog.coordinators.outcome import CoordinatorRecord


class ConsumerOwner:
    """Implements `offsets.owner.OffsetOwner` for one consumer group."""

    def __init__(self, group: ConsumerGroup) -> None:
        self._group = group

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool, api_version: int
    ) -> PartitionCheck | None:
        """Refuse a commit by somebody who may not; or what to check of each partition, if anything."""
        return check_commit(self._group, member_id, instance_id, generation, transactional, api_version)

    def note_commit(self, member_id: str) -> None:
        """A commit is no heartbeat: members send those apart."""

    def check_fetch(self, member_id: str | None, member_epoch: int, committed_only: bool) -> None:
        """Refuse a fetch by somebody who claims to be a member and is not, or not in that epoch."""
        check_fetch(self._group, member_id, member_epoch, committed_only)

    def check_delete(self) -> None:
        """Subscriptions are known, so offsets beside them may always be deleted."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Some member reads that topic."""
        return self._group.is_subscribed_to(topic)

    def idle_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since the commit."""
        return commit_timestamp_ms

    @property
    def is_deserted(self) -> bool:
        """No members."""
        return self._group.is_empty

    def tombstones(self) -> list[CoordinatorRecord]:
        """The end of the group."""
        return tombstones(self._group)
