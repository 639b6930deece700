"""The classic protocol's requests at the door: to the classic groups, or to the consumer group of that name.

A consumer group without members makes way for a classic one. Members of the classic protocol inside a consumer group
are `consumer.migration`'s.
"""

from __future__ import annotations

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic import join as classic_join
from tapelog.coordinators.classic import leave as classic_leave
from tapelog.coordinators.classic import sync as classic_sync
from tapelog.coordinators.consumer.leave import tombstones
from tapelog.coordinators.consumer.migration import join as mixed_join
from tapelog.coordinators.consumer.migration import leave as mixed_leave
from tapelog.coordinators.consumer.migration import sync as mixed_sync
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.outcome import Outcome, Reply
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest
from tapelog.wire.messages.leave_group_response import LeaveGroupResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.sync_group_response import SyncGroupResponse


def join(
    machine: GroupMachine, caller: Caller, request: JoinGroupRequest, reply: Reply[JoinGroupResponse]
) -> Outcome[None]:
    """JoinGroup, by the kind of the group."""
    group = machine.consumer.find(request.group_id)
    if group is None:
        return classic_join.join(machine.classic, caller, request, reply)
    if not group.is_empty:
        return mixed_join.join(machine.consumer, group, caller, request, reply)
    outcome = classic_join.join(machine.classic, caller, request, reply)
    records = [*tombstones(group), *outcome.records]
    return Outcome(records, None, committed=outcome.committed, failed=outcome.failed)


def sync(machine: GroupMachine, request: SyncGroupRequest, reply: Reply[SyncGroupResponse]) -> Outcome[None]:
    """SyncGroup, by the kind of the group."""
    group = machine.consumer.find(request.group_id)
    if group is None:
        return classic_sync.sync(machine.classic, request, reply)
    return mixed_sync.sync(machine.consumer, group, request, reply)


def heartbeat(machine: GroupMachine, request: HeartbeatRequest) -> Outcome[HeartbeatResponse]:
    """Heartbeat, by the kind of the group."""
    group = machine.consumer.find(request.group_id)
    if group is None:
        return classic_sync.heartbeat(machine.classic, request)
    return mixed_sync.heartbeat(machine.consumer, group, request)


def leave(machine: GroupMachine, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
    """LeaveGroup, by the kind of the group."""
    group = machine.consumer.find(request.group_id)
    if group is None:
        return classic_leave.leave(machine.classic, request)
    return mixed_leave.leave(machine.consumer, group, request)
