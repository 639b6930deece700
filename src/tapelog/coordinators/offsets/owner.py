"""What the offset handlers ask of a group, whatever its kind: who may commit, fetch and delete, and what may expire."""

from __future__ import annotations

from typing import Protocol


class OffsetOwner(Protocol):
    """A group as the owner of committed offsets. A refusal is a KafkaError."""

    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool, api_version: int
    ) -> None:
        """May this member of this generation (or member epoch) commit? Generation -1 is somebody outside the group."""
        ...

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """May this member fetch offsets? None and -1 is somebody who does not say."""
        ...

    def check_offset_delete(self) -> None:
        """May offsets be deleted at all?"""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Somebody in the group reads the topic, so that its offsets stay."""
        ...

    def offsets_idle_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since when an offset committed then, in a topic nobody here reads, has been of no use; None: it is not."""
        ...

    @property
    def is_deserted(self) -> bool:
        """No members and none expected: with its last offset the group may go."""
        ...


class OffsetOwners(Protocol):
    """The groups of a shard, as owners of offsets."""

    def owner_of(self, group_id: str) -> OffsetOwner | None:
        """The group, of whatever kind; None if there is none."""
        ...
