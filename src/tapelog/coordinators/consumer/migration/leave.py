"""LeaveGroup to a consumer group: members of either protocol go, by themselves or sent away by an administrator."""

from __future__ import annotations

from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import check_instance, check_known, fence
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.outcome import Outcome
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse


def leave(groups: ConsumerGroups, group: ConsumerGroup, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
    """Remove the members named; what is wrong with one is said of that one."""
    gone: dict[str, None] = {}
    results: list[MemberResponse] = []
    for identity in request.members:
        code = ErrorCode.NONE
        try:
            gone[_named(group, identity)] = None
        except KafkaError as error:
            code = error.code
        results.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
    response = LeaveGroupResponse(members=results)
    return fence(groups, group, list(gone), response) if gone else Outcome([], response)


def _named(group: ConsumerGroup, identity: MemberIdentity) -> str:
    """The member meant. A static one may be named by its instance id alone."""
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if instance_id is None:
        check_known(group, member_id)
        return member_id
    check_instance(group, member_id or group.instances.get(instance_id) or "", instance_id)
    return group.instances.get(instance_id) or ""
