"""What a group reads, as it will be once the change under way is written; and the group epoch that follows from it."""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import CurrentAssignment, MemberMetadata
from tapelog.coordinators.consumer.records import epoch_record, partition_metadata_tombstone
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.outcome import CoordinatorRecord


class Seat:
    """A member's place in its group while its heartbeat is handled."""

    __slots__ = ("before", "current", "group", "is_new", "is_wish_new", "member_id", "replaced")

    def __init__(
        self,
        group: ConsumerGroup,
        member_id: str,
        before: MemberMetadata,
        current: CurrentAssignment,
        *,
        replaced: str | None = None,
        is_new: bool = False,
    ) -> None:
        self.group = group
        self.member_id = member_id
        self.before = before
        """What the group knows of it so far, or of the static member whose place it takes."""
        self.current = current
        self.replaced = replaced
        """The former id of a static member that came back under another one."""
        self.is_new = is_new
        """Nothing is written of it (or of whom it replaces) yet."""
        self.is_wish_new = False
        """The group's targets do not yet take into account that it is there, or what it has begun to want."""

    def members_with(self, after: MemberMetadata) -> dict[str, MemberMetadata]:
        """The group's members, with this one as it is now."""
        members = dict(self.group.metadata.items())
        if self.replaced is not None:
            del members[self.replaced]
        members[self.member_id] = after
        return members


def topics_without(group: ConsumerGroup, gone: list[MemberMetadata]) -> set[str]:
    """What the group reads without these members."""
    names: dict[str, int] = {}
    regexes: dict[str, int] = {}
    for member in gone:
        for name in member.names:
            names[name] = names.get(name, 0) + 1
        if member.regex:
            regexes[member.regex] = regexes.get(member.regex, 0) + 1
    topics = {name for name, count in group.readers.items() if count > names.get(name, 0)}
    for regex, count in group.regex_users.items():
        if count > regexes.get(regex, 0):
            topics |= group.regex_topics(regex)
    return topics


def topics_with(seat: Seat, after: MemberMetadata) -> set[str]:
    """What the group reads once that member wants what it wants now."""
    return topics_without(seat.group, [seat.before]) | seat.group.subscribed_by(after)


def topics_resolved(group: ConsumerGroup, resolved: Mapping[str, frozenset[str]]) -> set[str]:
    """What the group reads once its regular expressions match these topics."""
    topics = {name for name, _ in group.readers.items()}
    for regex, _ in group.regex_users.items():
        topics |= resolved[regex] if regex in resolved else group.regex_topics(regex)
    return topics


def move_epoch(
    groups: ConsumerGroups, group: ConsumerGroup, topics: set[str], bump: bool, records: list[CoordinatorRecord]
) -> int:
    """The group's epoch, one higher if asked for or if a topic it reads has changed; adds the record of that."""
    metadata_hash = groups.watch.hash_of(topics)
    groups.saw_news(group.group_id)
    epoch = group.epoch
    if bump or metadata_hash != group.metadata_hash:
        epoch += 1
        records.append(epoch_record(group.group_id, epoch, metadata_hash))
    if len(group.legacy):
        records.append(partition_metadata_tombstone(group.group_id))
    return epoch
