"""ConsumerGroupDescribe, versions 0 and 1, and what a consumer group is in ListGroups: both as of what is committed."""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.consumer.group import FIRST_EPOCH, SELF, ConsumerGroup
from tapelog.coordinators.consumer.member import NEW_MEMBER, CurrentAssignment, MemberMetadata
from tapelog.coordinators.consumer.registry import GROUP_TYPE, ConsumerGroups
from tapelog.coordinators.consumer.target import most_voted
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from tapelog.wire.messages.list_groups_response import ListedGroup

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1
PROTOCOL_TYPE: Final = "consumer"


def describe(groups: ConsumerGroups, group_id: str) -> DescribedGroup:
    """One group with its members, what they own and what they should own; by member id."""
    group = groups.store.committed(group_id)
    if group is None:
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
        )
    epoch, targets = group.epochs.committed(SELF), group.target_epochs.committed(SELF)
    members = sorted(group.metadata.committed_items())
    votes: dict[str, int] = {}
    for _, member in members:
        if member.assignor is not None:
            votes[member.assignor] = votes.get(member.assignor, 0) + 1
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state(True),
        group_epoch=FIRST_EPOCH if epoch is None else epoch.epoch,
        assignment_epoch=FIRST_EPOCH if targets is None else targets.assignment_epoch,
        assignor_name=most_voted(groups, votes),
        members=[_member(groups, group, member_id, member) for member_id, member in members],
    )


def listed(group: ConsumerGroup) -> ListedGroup:
    """The group as ListGroups shows it."""
    return ListedGroup(
        group_id=group.group_id, protocol_type=PROTOCOL_TYPE, group_state=group.state(True), group_type=GROUP_TYPE
    )


def _member(groups: ConsumerGroups, group: ConsumerGroup, member_id: str, member: MemberMetadata) -> Member:
    current = group.current.committed(member_id) or NEW_MEMBER
    target = group.target.committed(member_id) or {}
    return Member(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=current.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(groups, _held(current)),
        target_assignment=_assignment(groups, {topic_id: list(partitions) for topic_id, partitions in target.items()}),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _held(current: CurrentAssignment) -> dict[bytes, list[int]]:
    """What the member owns, to keep or to give back."""
    held: dict[bytes, list[int]] = {}
    for owned in (current.assigned, current.revoking):
        for topic_id, partitions in owned.items():
            held.setdefault(topic_id, []).extend(partitions)
    return held


def _assignment(groups: ConsumerGroups, partitions: dict[bytes, list[int]]) -> Assignment:
    """By topic name; topics that are gone are left out."""
    named = [(name, topic_id) for topic_id in partitions if (name := groups.watch.topics.name_of(topic_id)) is not None]
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(partitions[topic_id]))
            for name, topic_id in sorted(named)
        ]
    )
