"""Members that go: by themselves, for a while (static members), or because they were not heard of."""

from __future__ import annotations

from typing import TypeVar

from tapelog.coordinators.consumer import records as made
from tapelog.coordinators.consumer.group import SELF, ConsumerGroup
from tapelog.coordinators.consumer.member import STATIC_LEAVING_EPOCH, CurrentAssignment
from tapelog.coordinators.consumer.migration import downgrade
from tapelog.coordinators.consumer.registry import ConsumerGroups, release
from tapelog.coordinators.consumer.subscription import move_epoch, topics_without
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

R = TypeVar("R")


def leave(groups: ConsumerGroups, request: ConsumerGroupHeartbeatRequest) -> Outcome[ConsumerGroupHeartbeatResponse]:
    """A heartbeat in epoch -1 or -2: the member goes, or, being static, goes for a while and keeps what it owns."""
    group = groups.find(request.group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
    member_id = request.member_id
    if request.instance_id is None:
        check_known(group, member_id)
    else:
        check_instance(group, member_id, request.instance_id)
    response = ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=request.member_epoch)
    if request.instance_id is not None and request.member_epoch == STATIC_LEAVING_EPOCH:
        current = group.current_of(member_id)
        waiting = CurrentAssignment(STATIC_LEAVING_EPOCH, current.previous_epoch, current.state, current.assigned, {})
        return Outcome([made.current_record(group.group_id, member_id, waiting)], response)
    return fence(groups, group, [member_id], response)


def check_known(group: ConsumerGroup, member_id: str) -> None:
    """UNKNOWN_MEMBER_ID if the group has no such member."""
    if member_id not in group.metadata:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def check_instance(group: ConsumerGroup, member_id: str, instance_id: str) -> None:
    """UNKNOWN_MEMBER_ID if the group has no such static member, FENCED_INSTANCE_ID if it goes by another id."""
    owner = group.instances.get(instance_id)
    if owner is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if owner != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}.",
        )


def fence(groups: ConsumerGroups, group: ConsumerGroup, member_ids: list[str], response: R) -> Outcome[R]:
    """Remove these members; what they owned is free, and the group's epoch moves on.

    Where only members of the classic protocol are left, the group becomes a classic one.
    """
    group_id = group.group_id
    gone = [member for member_id in member_ids if (member := group.metadata.get(member_id)) is not None]
    if downgrade.is_due(groups, group, gone):
        left = {m: (member, group.target_of(m)) for m, member in group.metadata.items() if m not in member_ids}
        return downgrade.downgrade(groups, group, left, tombstones(group), response)
    records: list[CoordinatorRecord] = []
    for member_id in member_ids:
        records += member_tombstones(group_id, member_id)
    unused = {member.regex: None for member in gone if member.regex}
    for regex in unused:
        users = sum(1 for member in gone if member.regex == regex)
        if group.regex_users.get(regex) == users and regex in group.regexes:
            records.append(made.regex_tombstone(group_id, regex))
    move_epoch(groups, group, topics_without(group, gone), True, records)
    return Outcome(
        records,
        response,
        committed=lambda: release(groups, group_id, member_ids),
        failed=lambda _: groups.forget(group_id),
    )


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The end of a member, in the order in which Kafka wants to replay it."""
    return [
        made.current_tombstone(group_id, member_id),
        made.target_tombstone(group_id, member_id),
        made.member_tombstone(group_id, member_id),
    ]


def tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """The end of a group, in the order in which Kafka wants to replay it."""
    group_id = group.group_id
    member_ids = [member_id for member_id, _ in group.metadata.items()]
    records = [made.current_tombstone(group_id, member_id) for member_id in member_ids]
    records += [made.target_tombstone(group_id, member_id) for member_id in member_ids]
    records.append(made.target_epoch_tombstone(group_id))
    records += [made.member_tombstone(group_id, member_id) for member_id in member_ids]
    records += [made.regex_tombstone(group_id, regex) for regex, _ in group.regexes.items()]
    if SELF in group.legacy:
        records.append(made.partition_metadata_tombstone(group_id))
    records.append(made.epoch_tombstone(group_id))
    return records
