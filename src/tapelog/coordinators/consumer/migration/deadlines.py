"""What members of the classic protocol inside a consumer group have to do by when, beside being heard of.

Who was told to join again has its rebalance timeout to do so, and as long again to fetch what it got. Who misses one is
fenced, so that others need not wait for its partitions. Both are forgotten with the coordinator; the session is not.
"""

from __future__ import annotations

from tapelog.coordinators.consumer.leave import fence
from tapelog.coordinators.consumer.registry import ConsumerGroups, join_deadline, sync_deadline
from tapelog.coordinators.outcome import Outcome, nothing


def expect_join(groups: ConsumerGroups, group_id: str, member_id: str, timeout_ms: int) -> None:
    """The member was told to join again. Being told twice does not give it more time."""
    name = join_deadline(group_id, member_id)
    if name not in groups.context.deadlines:
        groups.context.set_deadline(name, timeout_ms, lambda: _expire(groups, group_id, member_id))


def joined(groups: ConsumerGroups, group_id: str, member_id: str, timeout_ms: int) -> None:
    """The member's JoinGroup is answered: now it has to sync."""
    groups.context.deadlines.cancel(join_deadline(group_id, member_id))
    groups.context.set_deadline(
        sync_deadline(group_id, member_id), timeout_ms, lambda: _expire(groups, group_id, member_id)
    )


def synced(groups: ConsumerGroups, group_id: str, member_id: str) -> None:
    """The member has fetched what it got."""
    groups.context.deadlines.cancel(sync_deadline(group_id, member_id))


def _expire(groups: ConsumerGroups, group_id: str, member_id: str) -> Outcome[None]:
    group = groups.find(group_id)
    member = None if group is None else group.metadata.get(member_id)
    if group is None or member is None or member.classic is None:
        return nothing()
    return fence(groups, group, [member_id], None)
