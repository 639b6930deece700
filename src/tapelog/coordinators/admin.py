"""Looking at groups and deleting them, per shard: DescribeGroups 0 to 6, ListGroups 0 to 5, DeleteGroups 0 to 2."""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.classic.group import DEAD, EMPTY, STABLE, ClassicGroup
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.coordinators.classic.registry import GROUP_TYPE, ClassicGroups
from tapelog.coordinators.consumer.describe import listed as listed_consumer
from tapelog.coordinators.consumer.leave import tombstones
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.offsets.delete import all_of_group
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import group_tombstone
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.delete_groups_response import DeletableGroupResult
from tapelog.wire.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from tapelog.wire.messages.list_groups_response import ListedGroup

NOT_FOUND_IS_AN_ERROR_FROM: Final = 6
"""DescribeGroups says Dead before this version, GROUP_ID_NOT_FOUND from it on."""


def describe(groups: ClassicGroups, group_id: str, api_version: int) -> DescribedGroup:
    """One group with its members; its protocol and their metadata only when it is stable."""
    group = groups.find(group_id)
    if group is None:  # none, or one of the newer protocol, which has an API of its own
        if api_version < NOT_FOUND_IS_AN_ERROR_FROM:
            return DescribedGroup(group_id=group_id, group_state=DEAD)
        return DescribedGroup(
            group_id=group_id,
            group_state=DEAD,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
        )
    stable = group.state == STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol or "" if stable else "",
        members=[_describe_member(group, member) for member in group.members.values()],
    )


def _describe_member(group: ClassicGroup, member: ClassicMember) -> DescribedGroupMember:
    stable = group.state == STABLE
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol or "") if stable else b"",
        member_assignment=member.assignment,
    )


def list_all(machine: GroupMachine, states: list[str], types: list[str]) -> list[ListedGroup]:
    """The groups of these states and types; empty filters let everything through. Case does not matter."""
    wanted_states = [state.strip().lower() for state in states]
    wanted_types = [kind.strip().lower() for kind in types]
    listed: list[ListedGroup] = []
    for group_id in machine.state.group_ids():
        group = _listed(machine, group_id)
        if group is None or (wanted_states and group.group_state.lower() not in wanted_states):
            continue
        if not wanted_types or group.group_type in wanted_types:
            listed.append(group)
    return listed


def _listed(machine: GroupMachine, group_id: str) -> ListedGroup | None:
    consumer = machine.consumer.find(group_id)
    if consumer is not None:
        return listed_consumer(consumer) if consumer.exists_committed else None
    group = machine.classic.find(group_id)
    assert group is not None
    return ListedGroup(
        group_id=group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state,
        group_type=GROUP_TYPE,
    )


def delete(machine: GroupMachine, group_ids: list[str]) -> Outcome[list[DeletableGroupResult]]:
    """Delete groups that have no members, with all their offsets."""
    records: list[CoordinatorRecord] = []
    results: list[DeletableGroupResult] = []
    for group_id in group_ids:
        code, ending = _ending(machine, group_id)
        if code == ErrorCode.NONE:
            records.extend(all_of_group(machine.state.offsets, group_id))
            records.extend(ending)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
    return Outcome(records, results, atomic=False)


def _ending(machine: GroupMachine, group_id: str) -> tuple[ErrorCode, list[CoordinatorRecord]]:
    """The records that end the group, or why it cannot be ended."""
    consumer = machine.consumer.find(group_id)
    if consumer is not None:
        return (ErrorCode.NONE, tombstones(consumer)) if consumer.is_empty else (ErrorCode.NON_EMPTY_GROUP, [])
    group = machine.classic.find(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND, []
    return (ErrorCode.NONE, [group_tombstone(group_id)]) if group.state == EMPTY else (ErrorCode.NON_EMPTY_GROUP, [])
