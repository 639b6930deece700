"""A classic group as the owner of offsets: who may commit, fetch and delete, and what may expire."""

from __future__ import annotations

from tapelog.coordinators.classic.group import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, ClassicGroup
from tapelog.coordinators.classic.rebalance import extend_session
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.records import group_tombstone
from tapelog.wire.errors import ErrorCode, KafkaError


class ClassicOwner:
    """Implements `offsets.owner.OffsetOwner` for one classic group, or for one that has nothing but offsets."""

    def __init__(self, groups: ClassicGroups, group: ClassicGroup) -> None:
        self._groups = groups
        self._group = group

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool, api_version: int
    ) -> None:
        """Refuse a commit by somebody who is not, or not any more, entitled to it.

        A transactional commit may name no member at all (old versions cannot), and does not care about a rebalance.
        """
        group = self._group
        if generation < 0 and group.state == EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            group.check_generation(group.check_member(member_id, instance_id), generation)
        elif group.state != EMPTY and not transactional:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state == COMPLETING_REBALANCE and not transactional:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)

    def note_commit(self, member_id: str) -> None:
        """A commit is a sign of life."""
        member = self._group.members.get(member_id)
        if member is not None and self._group.is_in(STABLE, PREPARING_REBALANCE):
            extend_session(self._groups, self._group, member)

    def check_fetch(self, member_id: str | None, member_epoch: int, committed_only: bool) -> None:
        """Anybody may fetch."""

    def check_delete(self) -> None:
        """Members of other protocols than the consumers' may read anything."""
        if self._group.state != EMPTY and not self._group.is_consumer_group:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        """Some member reads that topic."""
        return self._group.is_subscribed_to(topic)

    def idle_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since the group has been empty; without a group, or beside its subscriptions, since the commit."""
        group = self._group
        if group.protocol_type is None:
            return commit_timestamp_ms
        if group.state == EMPTY:
            return group.state_since_ms if group.state_since_ms >= 0 else commit_timestamp_ms
        readable = group.state == STABLE and group.is_consumer_group and group.subscribed is not None
        return commit_timestamp_ms if readable else None

    @property
    def is_deserted(self) -> bool:
        """No members, and no id given to one to come."""
        return self._group.state == EMPTY and not self._group.pending_joins

    def tombstones(self) -> list[CoordinatorRecord]:
        """The end of the group."""
        return [group_tombstone(self._group.group_id)]
