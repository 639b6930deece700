"""The deadlines of members: to be heard of, and to give back what they were asked for. Who misses one is fenced."""

from __future__ import annotations

from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import fence
from tapelog.coordinators.consumer.member import UNREVOKED_PARTITIONS, CurrentAssignment, MemberMetadata
from tapelog.coordinators.consumer.registry import ConsumerGroups, rebalance_deadline, session_deadline
from tapelog.coordinators.outcome import Outcome, nothing


def extend_session(groups: ConsumerGroups, group_id: str, member_id: str, timeout_ms: int = -1) -> None:
    """The member was heard of: it has until then to be heard of again."""
    if timeout_ms < 0:
        timeout_ms = groups.config.session_timeout_ms(group_id)
    groups.context.set_deadline(
        session_deadline(group_id, member_id), timeout_ms, lambda: expire_session(groups, group_id, member_id)
    )


def expire_session(groups: ConsumerGroups, group_id: str, member_id: str) -> Outcome[None]:
    """The member was not heard of in time."""
    group = groups.find(group_id)
    if group is None or member_id not in group.metadata:
        return nothing()
    return _fence(groups, group, member_id)


def watch_revocation(
    groups: ConsumerGroups, group_id: str, member_id: str, member: MemberMetadata, current: CurrentAssignment
) -> None:
    """The member's assignment changed: if it has something to give back, it has the rebalance timeout to do so."""
    name = rebalance_deadline(group_id, member_id)
    if not _must_revoke(member, current):
        groups.context.deadlines.cancel(name)
        return
    epoch = current.epoch
    groups.context.set_deadline(
        name, member.rebalance_timeout_ms, lambda: expire_revocation(groups, group_id, member_id, epoch)
    )


def expire_revocation(groups: ConsumerGroups, group_id: str, member_id: str, epoch: int) -> Outcome[None]:
    """The member did not give back in time what it was asked for in that epoch: others wait for it no longer."""
    group = groups.find(group_id)
    member = None if group is None else group.metadata.get(member_id)
    if group is None or member is None:
        return nothing()
    current = group.current_of(member_id)
    if not _must_revoke(member, current) or current.epoch != epoch:
        return nothing()
    return _fence(groups, group, member_id)


def _fence(groups: ConsumerGroups, group: ConsumerGroup, member_id: str) -> Outcome[None]:
    """The deadline has passed, and is needed again should the member's end not be written."""
    outcome = fence(groups, group, [member_id], None)
    outcome.failed = lambda _: restore(groups, group.group_id, member_id)
    return outcome


def restore(groups: ConsumerGroups, group_id: str, member_id: str) -> None:
    """A change of the member could not be written: what went with it, beyond the records, did not happen either."""
    groups.forget(group_id)
    group = groups.find(group_id)
    member = None if group is None else group.metadata.get(member_id)
    if group is not None and member is not None:
        _expect(groups, group, member_id, member)


def activate(groups: ConsumerGroups) -> None:
    """After loading or an undo: every member is expected to be heard of, and to give back what it has to."""
    for group in groups.store.groups():
        for member_id, member in group.metadata.items():
            _expect(groups, group, member_id, member)


def _expect(groups: ConsumerGroups, group: ConsumerGroup, member_id: str, member: MemberMetadata) -> None:
    deadlines = groups.context.deadlines
    if session_deadline(group.group_id, member_id) not in deadlines:
        timeout_ms = -1 if member.classic is None else member.classic.session_timeout_ms
        extend_session(groups, group.group_id, member_id, timeout_ms)
    current = group.current_of(member_id)
    if _must_revoke(member, current) and rebalance_deadline(group.group_id, member_id) not in deadlines:
        watch_revocation(groups, group.group_id, member_id, member, current)


def _must_revoke(member: MemberMetadata, current: CurrentAssignment) -> bool:
    """Members of the classic protocol have deadlines of their own; a static member that left owes nothing."""
    return current.state == UNREVOKED_PARTITIONS and current.epoch >= 0 and member.classic is None
