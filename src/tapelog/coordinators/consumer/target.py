"""The targets of a group: asked of an assignor, at most once per interval, and written down where they changed.

However many members come and go within `group.consumer.assignment.interval.ms`, the assignor is asked once for all of
them, at the first heartbeat after it. Until then newcomers have an empty target and everybody else keeps its own. What
takes longer than one bounded piece of work goes on beside the heartbeats (`computation`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.coordinators.consumer.assignors.spec import Assignment, Assignor
from tapelog.coordinators.consumer.computation import Computation, Wishes
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import MemberMetadata
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.subscription import Seat, topics_with
from tapelog.coordinators.outcome import CoordinatorRecord


def target_for(
    groups: ConsumerGroups, seat: Seat, after: MemberMetadata, epoch: int, records: list[CoordinatorRecord]
) -> tuple[int, Assignment]:
    """The epoch of the targets and the target of that member; computed anew if the group's epoch asks for it."""
    group = seat.group
    if epoch > group.target_epoch and group.group_id not in groups.computing and is_due(groups, group):
        computation = _begun(groups, seat, after, epoch)
        if computation.go_on():
            records += computation.changed()
            return epoch, computation.targets[seat.member_id]
        computation.continue_later()
    return group.target_epoch, group.target_of(seat.replaced or seat.member_id)


def _begun(groups: ConsumerGroups, seat: Seat, after: MemberMetadata, epoch: int) -> Computation:
    group = seat.group
    targets = dict(group.target.items())
    if seat.replaced is not None:
        targets[seat.member_id] = targets.pop(seat.replaced, {})
    wishes = Wishes(group, seat.members_with(after), targets, sorted(topics_with(seat, after)))
    return Computation(groups, epoch, preferred_assignor(groups, group, seat.before, after), wishes)


def is_due(groups: ConsumerGroups, group: ConsumerGroup) -> bool:
    """Enough time has passed since the targets were last computed."""
    return due_in_ms(groups, group) == 0


def due_in_ms(groups: ConsumerGroups, group: ConsumerGroup) -> int:
    """How long it takes until the targets may be computed again; 0 for now, also if the clock was set back."""
    last_ms = group.target_timestamp_ms
    passed_ms = groups.wall_ms() - last_ms
    interval_ms = groups.config.assignment_interval_ms(group.group_id)
    return interval_ms - passed_ms if last_ms != 0 and 0 <= passed_ms < interval_ms else 0


def preferred_assignor(
    groups: ConsumerGroups, group: ConsumerGroup, before: MemberMetadata, after: MemberMetadata
) -> Assignor:
    """The assignor that most members name; among equals the one configured first."""
    votes = {name: votes for name, votes in group.assignor_votes.items() if name in groups.config.assignors}
    for name, change in ((before.assignor, -1), (after.assignor, 1)):
        if name in groups.config.assignors:
            votes[name] = votes.get(name, 0) + change
    return groups.config.assignors[most_voted(groups, votes)]


def most_voted(groups: ConsumerGroups, votes: Mapping[str, int]) -> str:
    """The assignor with most votes; among equals, and without any, the one configured first."""
    return max(groups.config.assignors, key=lambda name: votes.get(name, 0))
