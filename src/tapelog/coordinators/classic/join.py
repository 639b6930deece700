"""JoinGroup: a member enters a group, or comes back to it.

Versions 0 to 9. From version 4 a dynamic member without an id is given one and has to join again with it; static
members (group.instance.id, version 5) take over their former place, without a rebalance if nothing else changed.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.group import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
)
from tapelog.coordinators.classic.ledger import GROUP_BYTES_MAX
from tapelog.coordinators.classic.member import ClassicMember, Protocols
from tapelog.coordinators.classic.rebalance import (
    NEW_MEMBER_TIMEOUT_MS,
    expect_pending,
    extend_session,
    go_on,
    join_response,
    prepare,
    prepare_or_go_on,
)
from tapelog.coordinators.classic.registry import ClassicGroups, empty_image, image_of, session_deadline
from tapelog.coordinators.outcome import Outcome, Reply, nothing
from tapelog.coordinators.records import group_metadata
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.join_group_response import JoinGroupResponse

MEMBER_ID_REQUIRED_FROM: Final = 4
SKIP_ASSIGNMENT_FROM: Final = 9


class Join:
    """One JoinGroup request on its way through the handler."""

    __slots__ = ("caller", "protocols", "reply", "request")

    def __init__(self, caller: Caller, request: JoinGroupRequest, reply: Reply[JoinGroupResponse]) -> None:
        self.caller = caller
        self.request = request
        self.reply = reply
        self.protocols = protocols_of(request)

    @property
    def rebalance_timeout_ms(self) -> int:
        """Version 0 has none of its own."""
        if self.caller.api_version == 0 or self.request.rebalance_timeout_ms < 0:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms


def join(
    groups: ClassicGroups, caller: Caller, request: JoinGroupRequest, reply: Reply[JoinGroupResponse]
) -> Outcome[None]:
    """Let a member in. The reply is given now, or parked in the group until the joining phase is over."""
    attempt = Join(caller, request, reply)
    group = groups.find(request.group_id)
    created = group is None
    if group is None:
        if request.member_id:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        group = ClassicGroup(request.group_id, EMPTY, groups.wall_ms())
    if not _has_room(groups, group, request.member_id):
        group.remove(request.member_id)
        groups.context.deadlines.cancel(session_deadline(group.group_id, request.member_id))
        reply.answer(JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED))
        return go_on(groups, group)
    if not _has_memory(groups, group, attempt):
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE if groups.ledger.full else ErrorCode.GROUP_MAX_SIZE_REACHED
        raise KafkaError(code)
    if not group.supports(request.protocol_type, attempt.protocols):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    outcome = _join_again(groups, group, attempt) if request.member_id else _join_first(groups, group, attempt)
    if not created:
        return outcome
    assert not outcome.records, "a new group has nobody to wait for but its first member"
    return Outcome([group_metadata(group.group_id, empty_image(group))], None)


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """The protocols of a request; of several by one name the first counts."""
    by_name: dict[str, bytes] = {}
    for protocol in request.protocols:
        by_name.setdefault(protocol.name, protocol.metadata)
    return list(by_name.items())


def _has_room(groups: ClassicGroups, group: ClassicGroup, member_id: str) -> bool:
    """During a joining phase those who joined count, so that the last to come back are the ones turned away."""
    member = group.members.get(member_id)
    if group.state == EMPTY:
        return True
    if group.state == PREPARING_REBALANCE:
        return (member is not None and member.awaiting_join is not None) or group.joined < groups.config.members_max
    return member is not None or len(group.members) < groups.config.members_max


def _has_memory(groups: ClassicGroups, group: ClassicGroup, attempt: Join) -> bool:
    """What the request brings can be kept. Those who are members already may always come back with no more."""
    size = sum([len(data) for _, data in attempt.protocols])
    member = group.members.get(attempt.request.member_id)
    if member is not None:
        size -= sum([len(data) for _, data in member.protocols])
        if size <= 0:
            return True
    return not groups.ledger.full and group.sent_bytes + size <= GROUP_BYTES_MAX


# -- without a member id


def _join_first(groups: ClassicGroups, group: ClassicGroup, attempt: Join) -> Outcome[None]:
    request = attempt.request
    instance_id = request.group_instance_id
    if instance_id is not None:
        member_id = groups.new_member_id(instance_id)
        if instance_id in group.static_members:
            return _take_over(groups, group, attempt, instance_id, member_id)
        return _add_member(groups, group, attempt, member_id)
    member_id = groups.new_member_id(attempt.caller.client_id)
    if attempt.caller.api_version < MEMBER_ID_REQUIRED_FROM:
        return _add_member(groups, group, attempt, member_id)
    groups.keep(group)
    expect_pending(groups, group, member_id, request.session_timeout_ms)
    attempt.reply.answer(JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED))
    return nothing()


def _add_member(groups: ClassicGroups, group: ClassicGroup, attempt: Join, member_id: str) -> Outcome[None]:
    request = attempt.request
    member = ClassicMember(
        member_id,
        request.group_instance_id,
        attempt.caller.client_id,
        attempt.caller.client_host,
        attempt.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        attempt.protocols,
    )
    member.is_new = True
    if group.state == PREPARING_REBALANCE and group.previous_state == EMPTY:
        group.new_member_added = True
    groups.keep(group)
    group.add(member, attempt.reply)
    extend_session(groups, group, member, NEW_MEMBER_TIMEOUT_MS)
    return prepare_or_go_on(groups, group)


# -- with a member id


def _join_again(groups: ClassicGroups, group: ClassicGroup, attempt: Join) -> Outcome[None]:
    request = attempt.request
    if request.member_id in group.pending_joins and request.group_instance_id is None:
        return _add_member(groups, group, attempt, request.member_id)
    member = group.check_member(request.member_id, request.group_instance_id)
    unchanged = member.protocols == attempt.protocols
    if group.state == PREPARING_REBALANCE:
        return _rejoin(groups, group, attempt, member)
    if group.state == COMPLETING_REBALANCE and unchanged:
        # It may have missed the answer to its first attempt.
        attempt.reply.answer(join_response(group, member.member_id))
        return nothing()
    if group.state == STABLE and unchanged and group.leader != member.member_id:
        attempt.reply.answer(join_response(group, member.member_id))
        return nothing()
    # Changed metadata; or a stable group's leader, who asks for a rebalance this way when partitions changed.
    return _rejoin(groups, group, attempt, member)


def _rejoin(groups: ClassicGroups, group: ClassicGroup, attempt: Join, member: ClassicMember) -> Outcome[None]:
    group.answer_join(member, JoinGroupResponse(member_id=member.member_id, error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    group.update(
        member, attempt.protocols, attempt.rebalance_timeout_ms, attempt.request.session_timeout_ms, attempt.reply
    )
    return prepare_or_go_on(groups, group)


# -- a static member comes back


def _take_over(
    groups: ClassicGroups, group: ClassicGroup, attempt: Join, instance_id: str, new_id: str
) -> Outcome[None]:
    former_leader = group.leader
    former_id = group.static_members[instance_id]
    former = group.members[former_id]
    wishes = (former.protocols, former.rebalance_timeout_ms, former.session_timeout_ms)
    member = group.replace_static(instance_id, new_id)
    extend_session(groups, group, member)
    group.update(
        member, attempt.protocols, attempt.rebalance_timeout_ms, attempt.request.session_timeout_ms, attempt.reply
    )
    if group.state == PREPARING_REBALANCE:
        return go_on(groups, group)
    if group.state == COMPLETING_REBALANCE or group.select_protocol() != group.protocol:
        # The leader assigns to the former id, or a protocol would change under the others.
        return prepare(groups, group)

    def committed() -> None:
        if group.state == STABLE:
            group.answer_join(member, _take_over_response(group, attempt, new_id, former_leader))

    def failed(error: ErrorCode) -> None:
        if group.static_members.get(instance_id) == new_id:
            group.update(member, *wishes, None)
            extend_session(groups, group, group.replace_static(instance_id, former_id))
        attempt.reply.answer(JoinGroupResponse(error_code=error))

    assignments = {m.member_id: m.assignment for m in group.members.values()}
    record = group_metadata(group.group_id, image_of(group, assignments))
    return Outcome([record], None, committed=committed, failed=failed)


def _take_over_response(
    group: ClassicGroup, attempt: Join, member_id: str, former_leader: str | None
) -> JoinGroupResponse:
    """The running generation. A leader that comes back must not assign again: from version 9 it is told so, before
    that it is made to believe that its former self still leads."""
    response = join_response(group, member_id)
    if attempt.caller.api_version >= SKIP_ASSIGNMENT_FROM:
        response.skip_assignment = group.leader == member_id
    else:
        response.leader = former_leader or ""
        response.members = []
    return response
