"""A consumer group becomes a classic group again, because nobody of the newer protocol is left in it.

The targets become the assignments, and their epoch the generation: no member can be in a later one. Members learn of
the change by REBALANCE_IN_PROGRESS, also those that are in an earlier epoch: where Kafka tells them ILLEGAL_GENERATION,
and they lose what they own and read it again, they may go on until they have joined. A static member that takes the
place of the last one of the newer protocol causes no rebalance if everybody already has what it should have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tapelog.coordinators.classic.group import STABLE, ClassicGroup
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.coordinators.classic.registry import image_of
from tapelog.coordinators.classic.subscription import CONSUMER
from tapelog.coordinators.consumer.assignors.spec import Assignment
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import MemberMetadata
from tapelog.coordinators.consumer.migration.embedded import assignment_bytes, subscription_of
from tapelog.coordinators.consumer.registry import ConsumerGroups, release
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, nothing
from tapelog.coordinators.records import group_metadata
from tapelog.wire.primitives import WireError

R = TypeVar("R")


def is_due(groups: ConsumerGroups, group: ConsumerGroup, gone: list[MemberMetadata], come: int = 0) -> bool:
    """Without these members (and with so many of the classic protocol instead) only classic ones are left."""
    left = len(group.metadata) - len(gone)
    left_classic = group.classic_count - sum(1 for member in gone if member.classic is not None)
    return (
        groups.config.downgrade_enabled
        and any(member.classic is None for member in gone)
        and left == left_classic
        and 0 < left + come <= groups.group_config.members_max
    )


def downgrade(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    members: Mapping[str, tuple[MemberMetadata, Assignment]],
    ending: list[CoordinatorRecord],
    response: R,
    *,
    rebalance: bool = True,
) -> Outcome[R]:
    """The end of the consumer group and the classic group of these members, with their targets, in its place.

    A record without a leader makes the group rebalance as soon as it is replayed, also by the next coordinator.
    """
    group_id = group.group_id
    classic = ClassicGroup(group_id, STABLE, groups.wall_ms())
    classic.generation = group.target_epoch
    for member_id in sorted(members):
        classic.add(_member(member_id, members[member_id][0]), None)
    classic.protocol = classic.select_protocol()
    assignments = {
        member.member_id: _assignment(groups, member.metadata(classic.protocol), members[member.member_id][1])
        for member in classic.members.values()
    }
    image = image_of(classic, assignments)
    if rebalance:
        image.leader = None
    former = [member_id for member_id, _ in group.metadata.items()]
    epochs = {member_id: group.current_of(member_id).epoch for member_id in members}
    groups.context.submit(lambda: _remember(groups, group_id, epochs))
    return Outcome(
        [*ending, group_metadata(group_id, image)],
        response,
        committed=lambda: release(groups, group_id, former),
    )


def _member(member_id: str, member: MemberMetadata) -> ClassicMember:
    assert member.classic is not None, "only members of the classic protocol are left"
    return ClassicMember(
        member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        CONSUMER,
        list(member.classic.protocols),
    )


def _assignment(groups: ConsumerGroups, metadata: bytes, target: Assignment) -> bytes:
    """The target in the consumer protocol, in the version that the member speaks; topics that are gone left out."""
    try:
        version = subscription_of(metadata).version
    except WireError:
        version = 0
    named = {groups.watch.topics.name_of(topic_id): partitions for topic_id, partitions in target.items()}
    return assignment_bytes({name: partitions for name, partitions in named.items() if name is not None}, version)


def _remember(groups: ConsumerGroups, group_id: str, epochs: Mapping[str, int]) -> Outcome[None]:
    """The classic group is there: its members are still in the epochs of the consumer group."""
    group = groups.classic.active.get(group_id)
    for member_id, epoch in epochs.items():
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            member.former_epoch = epoch
    return nothing()
