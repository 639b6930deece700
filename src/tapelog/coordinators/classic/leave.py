"""LeaveGroup: members go, by themselves or sent away by an administrator.

Versions 0 to 5; from version 3 several members at once, each with its own result. A static member may be named by its
instance id alone.
"""

from __future__ import annotations

from tapelog.coordinators.classic.group import COMPLETING_REBALANCE, STABLE, ClassicGroup
from tapelog.coordinators.classic.rebalance import dismiss, go_on, prepare
from tapelog.coordinators.classic.registry import ClassicGroups, session_deadline
from tapelog.coordinators.outcome import Outcome, nothing
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse


def leave(groups: ClassicGroups, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
    """Remove the members named, and rebalance the rest."""
    group = groups.find(request.group_id)
    if group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    results = [
        MemberResponse(
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id,
            error_code=_remove(groups, group, identity),
        )
        for identity in request.members
    ]
    outcome = nothing()
    if any(result.error_code == ErrorCode.NONE for result in results):
        outcome = prepare(groups, group) if group.is_in(STABLE, COMPLETING_REBALANCE) else go_on(groups, group)
        if not outcome.records:
            groups.settle(group)
    return Outcome(
        outcome.records,
        LeaveGroupResponse(members=results),
        committed=outcome.committed,
        failed=outcome.failed,
    )


def _remove(groups: ClassicGroups, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.static_members.get(instance_id, "")
    if member_id in group.pending_joins:
        group.remove(member_id)
        groups.context.deadlines.cancel(session_deadline(group.group_id, member_id))
        return ErrorCode.NONE
    try:
        member = group.check_member(member_id, instance_id)
    except KafkaError as error:
        return error.code
    groups.context.deadlines.cancel(session_deadline(group.group_id, member_id))
    dismiss(group, member)
    return ErrorCode.NONE
