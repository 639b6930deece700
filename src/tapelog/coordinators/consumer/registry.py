"""The consumer groups of a shard with what their handlers need: configuration, topics, deadlines.

Beside the hard state (`store.ConsumerStore`) there is little: who must be heard of by when and was heard of from where,
how much of the topics' news each group has seen, and which groups' regular expressions are being resolved. All of it
can be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tapelog.base.ids import new_id, to_text
from tapelog.base.ports import Entropy
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.config import GroupConfig
from tapelog.coordinators.consumer.config import ConsumerConfig
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import UNREVOKED_PARTITIONS
from tapelog.coordinators.consumer.store import ConsumerStore
from tapelog.coordinators.consumer.watch import TopicWatch
from tapelog.coordinators.outcome import ShardContext

GROUP_TYPE: Final = "consumer"


class ConsumerGroups:
    """The consumer groups of one shard."""

    def __init__(
        self,
        store: ConsumerStore,
        config: GroupConfig,
        consumer_config: ConsumerConfig,
        context: ShardContext,
        entropy: Entropy,
        watch: TopicWatch,
        classic: ClassicGroups,
    ) -> None:
        self.store = store
        self.group_config = config
        self.config = consumer_config
        self.context = context
        self.entropy = entropy
        self.watch = watch
        self.classic = classic
        """The other kind of groups of the same shard: groups change their kind."""
        self.seen: dict[str, int] = {}
        """By group, how many of the topics' changes its metadata hash takes into account."""
        self.resolving: dict[str, None] = {}
        """Groups whose regular expressions are being resolved."""
        self.computing: dict[str, object] = {}
        """Groups whose targets are being computed or written, with the computation that is (see `computation`)."""
        self._connections: dict[str, dict[str, int]] = {}
        """By group and member, the connection over which it was last heard of."""

    def find(self, group_id: str) -> ConsumerGroup | None:
        """The group, or None if there is none (or one of another kind)."""
        return self.store.get(group_id)

    def wall_ms(self) -> int:
        """Now, as written in records."""
        return self.context.clock.wall_ms()

    def new_member_id(self) -> str:
        """An id nobody has had."""
        return to_text(new_id(self.entropy))

    def has_news(self, group: ConsumerGroup) -> bool:
        """A topic of the group may have changed since its metadata hash was computed."""
        seen = self.seen.get(group.group_id)
        if seen == self.watch.count:
            return False
        news = None if seen is None else self.watch.news_since(seen)
        if news is None or any(group.is_subscribed_to(name) for name in news):
            return True
        self.saw_news(group.group_id)
        return False

    def saw_news(self, group_id: str) -> None:
        """The group's metadata hash takes every change so far into account, once it is written."""
        self.seen[group_id] = self.watch.count

    def is_elsewhere(self, group_id: str, member_id: str, connection: int) -> bool:
        """The member was last heard of over another connection, or not here: its last answer may be lost."""
        return self._connections.get(group_id, {}).get(member_id) != connection

    def heard(self, group_id: str, member_id: str, connection: int) -> None:
        """The member was heard of over that connection."""
        self._connections.setdefault(group_id, {})[member_id] = connection

    def forget_member(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        connections = self._connections.get(group_id, {})
        connections.pop(member_id, None)
        if not connections:
            self._connections.pop(group_id, None)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._connections.pop(group_id, None)
        self.seen.pop(group_id, None)
        self.resolving.pop(group_id, None)
        self.computing.pop(group_id, None)

    def reset(self) -> None:
        """After an undo: what was taken for written may not be."""
        self._connections.clear()
        self.seen.clear()
        self.resolving.clear()
        self.computing.clear()

    def invariants(self) -> None:
        """What must hold between any two operations."""
        deadlines = self.context.deadlines
        for group in self.store.groups():
            group.invariants()
            for member_id, member in group.metadata.items():
                assert session_deadline(group.group_id, member_id) in deadlines, f"nobody waits for {member_id}"
                current = group.current_of(member_id)
                revoking = current.state == UNREVOKED_PARTITIONS and current.epoch >= 0 and member.classic is None
                assert not revoking or rebalance_deadline(group.group_id, member_id) in deadlines


def session_deadline(group_id: str, member_id: str) -> str:
    """The deadline by which the member must be heard of."""
    return f"member/{_named(group_id, member_id)}"


def rebalance_deadline(group_id: str, member_id: str) -> str:
    """The deadline by which the member must have given back what it was asked for."""
    return f"revoke/{_named(group_id, member_id)}"


def join_deadline(group_id: str, member_id: str) -> str:
    """The deadline by which a member of the classic protocol that was told to join again must have done so."""
    return f"rejoin/{_named(group_id, member_id)}"


def sync_deadline(group_id: str, member_id: str) -> str:
    """The deadline by which a member of the classic protocol must have fetched what it got when it joined."""
    return f"collect/{_named(group_id, member_id)}"


def _named(group_id: str, member_id: str) -> str:
    """One name per member, whatever is in the ids: both are chosen by clients."""
    return f"{len(group_id)}/{group_id}/{member_id}"


def release(groups: ConsumerGroups, group_id: str, member_ids: Iterable[str]) -> None:
    """The end of these members is committed: nothing is expected of them any more, unless they are back by now.

    Not before: an end that cannot be written leaves a member that must still be waited for.
    """
    group = groups.find(group_id)
    for member_id in member_ids:
        if group is None or member_id not in group.metadata:
            groups.forget_member(group_id, member_id)
            for name in (session_deadline, rebalance_deadline, join_deadline, sync_deadline):
                groups.context.deadlines.cancel(name(group_id, member_id))
