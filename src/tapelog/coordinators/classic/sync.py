"""SyncGroup and Heartbeat: members fetch what the leader assigned, and say that they are alive.

SyncGroup versions 0 to 5, Heartbeat 0 to 4. The leader's SyncGroup carries everyone's assignment; it becomes a record,
and when that is committed the group is stable and every parked SyncGroup is answered.
"""

from __future__ import annotations

from tapelog.coordinators.classic.group import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
    answer_sync,
)
from tapelog.coordinators.classic.rebalance import extend_session, prepare_or_go_on, reset_assignments
from tapelog.coordinators.classic.registry import ClassicGroups, image_of, sync_deadline
from tapelog.coordinators.outcome import Outcome, Reply, nothing
from tapelog.coordinators.records import group_metadata
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.sync_group_response import SyncGroupResponse


def sync(groups: ClassicGroups, request: SyncGroupRequest, reply: Reply[SyncGroupResponse]) -> Outcome[None]:
    """Give a member its assignment, now or when the leader has decided."""
    group = groups.find(request.group_id)
    if group is None or group.state == EMPTY:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = group.check_member(request.member_id, request.group_instance_id)
    group.check_generation(member, request.generation_id)
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state == PREPARING_REBALANCE or request.generation_id != group.generation:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    _synced(groups, group, member.member_id)
    if group.state == STABLE:
        extend_session(groups, group, member)
        reply.answer(_assignment_response(group, member.assignment))
        return nothing()
    answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    member.awaiting_sync = reply
    return _assign(groups, group, request) if group.leader == member.member_id else nothing()


def _differs(asked: str | None, actual: str | None) -> bool:
    return asked is not None and actual is not None and asked != actual


def _synced(groups: ClassicGroups, group: ClassicGroup, member_id: str) -> None:
    group.pending_syncs.pop(member_id, None)
    if not group.pending_syncs:
        groups.context.deadlines.cancel(sync_deadline(group.group_id))


def _assign(groups: ClassicGroups, group: ClassicGroup, request: SyncGroupRequest) -> Outcome[None]:
    """The leader has spoken: write the generation down, then tell everyone."""
    generation = group.generation
    spoken = {assignment.member_id: assignment.assignment for assignment in request.assignments}
    assignments = {member_id: spoken.get(member_id, b"") for member_id in group.members}

    def still_waiting() -> bool:
        return group.state == COMPLETING_REBALANCE and group.generation == generation

    def committed() -> None:
        if not still_waiting():
            return
        group.transition(STABLE, groups.wall_ms())
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if answer_sync(member, _assignment_response(group, member.assignment)):
                extend_session(groups, group, member)

    def failed(error: ErrorCode) -> None:
        if still_waiting():
            reset_assignments(groups, group, error)
            groups.context.submit(lambda: prepare_or_go_on(groups, group) if still_waiting() else nothing())

    return Outcome(
        [group_metadata(group.group_id, image_of(group, assignments))], None, committed=committed, failed=failed
    )


def _assignment_response(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def heartbeat(groups: ClassicGroups, request: HeartbeatRequest) -> Outcome[HeartbeatResponse]:
    """The member lives. It hears REBALANCE_IN_PROGRESS when it has to join again."""
    group = groups.find(request.group_id)
    if group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = group.check_member(request.member_id, request.group_instance_id)
    group.check_generation(member, request.generation_id)
    extend_session(groups, group, member)
    rebalancing = group.state == PREPARING_REBALANCE or request.generation_id != group.generation
    return Outcome([], HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE))
