"""The targets of a group: asked of an assignor, at most once per interval, and written down where they changed.

However many members come and go within `group.consumer.assignment.interval.ms`, the assignor is asked once for all of
them, at the first heartbeat after it. Until then newcomers have an empty target and everybody else keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.coordinators.consumer.assignors.spec import Assignment, Assignor, GroupSpec, MemberSpec, TopicSpec
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import MemberMetadata
from tapelog.coordinators.consumer.records import target_epoch_record, target_record
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.subscription import Seat, topics_with
from tapelog.coordinators.outcome import CoordinatorRecord


def target_for(
    groups: ConsumerGroups, seat: Seat, after: MemberMetadata, epoch: int, records: list[CoordinatorRecord]
) -> tuple[int, Assignment]:
    """The epoch of the targets and the target of that member; computed anew if the group's epoch asks for it."""
    group = seat.group
    if epoch <= group.target_epoch or not is_due(groups, group):
        return group.target_epoch, group.target_of(seat.replaced or seat.member_id)
    members = seat.members_with(after)
    targets = dict(group.target.items())
    if seat.replaced is not None:
        targets[seat.member_id] = targets.pop(seat.replaced, {})
    chosen = preferred_assignor(groups, group, seat.before, after)
    computed = chosen(_question(groups, group, members, targets, topics_with(seat, after)))
    for member_id in sorted(computed):
        if targets.get(member_id) != computed[member_id]:
            records.append(target_record(group.group_id, member_id, computed[member_id]))
    records.append(target_epoch_record(group.group_id, epoch, groups.wall_ms()))
    return epoch, computed[seat.member_id]


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


def _question(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    members: Mapping[str, MemberMetadata],
    targets: Mapping[str, Assignment],
    topics: set[str],
) -> GroupSpec:
    with_racks = any(member.rack is not None for member in members.values())
    specs: dict[bytes, TopicSpec] = {}
    for name in sorted(topics):
        spec = groups.watch.spec_of(name, with_racks)
        if spec is not None:
            specs[spec.topic_id] = spec
    subscribed: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
    asked: list[MemberSpec] = []
    for member_id, member in members.items():
        wish = (member.names, member.regex)
        if wish not in subscribed:
            subscribed[wish] = groups.watch.ids(group.subscribed_by(member))
        asked.append(
            MemberSpec(member_id, subscribed[wish], targets.get(member_id, {}), member.instance_id, member.rack)
        )
    return GroupSpec(tuple(asked), specs)
