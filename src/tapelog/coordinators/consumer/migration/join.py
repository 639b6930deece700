"""JoinGroup to a consumer group that has members: a member of the classic protocol comes, or comes back.

It is answered at once: nobody waits for the others. The generation it hears is its member epoch. While it still has to
give something back it stays in its epoch; so it joins, fetches less than it owns, and joins again without the rest.
"""

from __future__ import annotations

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.join import MEMBER_ID_REQUIRED_FROM, Join
from tapelog.coordinators.classic.subscription import CONSUMER
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.heartbeat import check_room, move_on, seat_of, take_over
from tapelog.coordinators.consumer.leave import check_instance, tombstones
from tapelog.coordinators.consumer.member import STABLE, ClassicMetadata, CurrentAssignment, MemberMetadata
from tapelog.coordinators.consumer.migration import deadlines
from tapelog.coordinators.consumer.migration.downgrade import downgrade, is_due
from tapelog.coordinators.consumer.migration.embedded import Subscription, subscription_of
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.sessions import extend_session, restore
from tapelog.coordinators.consumer.subscription import Seat
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, Reply, nothing
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.primitives import WireError


def join(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    caller: Caller,
    request: JoinGroupRequest,
    reply: Reply[JoinGroupResponse],
) -> Outcome[None]:
    """Let a member of the classic protocol in, or bring it towards what it should own."""
    attempt = Join(caller, request, reply)
    if not (groups.config.upgrade_enabled or groups.config.downgrade_enabled):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    check_room(groups, group, request.member_id, request.group_instance_id)
    wish = _wish(group, attempt)
    member_id = request.member_id or groups.new_member_id()
    nameless = not request.member_id and request.group_instance_id is None
    if nameless and caller.api_version >= MEMBER_ID_REQUIRED_FROM:
        reply.answer(JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED))
        return nothing()
    records: list[CoordinatorRecord] = []
    seat = _seat(group, request, member_id, records)
    after = _updated(seat.before, attempt, wish)
    if seat.replaced is not None and is_due(groups, group, [seat.before], come=1):
        return _downgraded(groups, seat, attempt, after)
    current = move_on(groups, seat, after, reported_of(groups, wish), records)
    return _answered(groups, seat, attempt, current, records)


def reported_of(groups: ConsumerGroups, wish: Subscription) -> dict[bytes, set[int]]:
    """What the member says it owns, by topic id. Who says nothing owns nothing: it gave everything back to join."""
    known = ((groups.watch.topics.id_of(name), partitions) for name, partitions in wish.owned.items())
    return {topic_id: set(partitions) for topic_id, partitions in known if topic_id is not None}


def _wish(group: ConsumerGroup, attempt: Join) -> Subscription:
    """INCONSISTENT_GROUP_PROTOCOL unless it can be read, and one of its protocols is every classic member's."""
    if attempt.request.protocol_type != CONSUMER or not _has_common_protocol(group, attempt):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        return subscription_of(attempt.protocols[0][1])
    except WireError as error:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from error


def _has_common_protocol(group: ConsumerGroup, attempt: Join) -> bool:
    request = attempt.request
    common = {name for name, _ in attempt.protocols}
    before = group.metadata.get(request.member_id)
    if before is not None and before.classic is not None and common == {name for name, _ in before.classic.protocols}:
        return bool(common)
    replaced = group.instances.get(request.group_instance_id or "")
    for member_id, member in group.metadata.items():
        if member.classic is not None and member_id not in (request.member_id, replaced):
            common &= {name for name, _ in member.classic.protocols}
    return bool(common)


def _seat(group: ConsumerGroup, request: JoinGroupRequest, member_id: str, records: list[CoordinatorRecord]) -> Seat:
    """Its own place, a new one, or that of a static member of either protocol that comes back."""
    instance_id = request.group_instance_id
    if instance_id is None:
        return seat_of(group, member_id)
    if request.member_id:
        check_instance(group, member_id, instance_id)
    elif instance_id in group.instances:
        return take_over(group, member_id, instance_id, True, records)
    return seat_of(group, member_id)


def _updated(before: MemberMetadata, attempt: Join, wish: Subscription) -> MemberMetadata:
    request = attempt.request
    return before._replace(
        instance_id=before.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack=before.rack if wish.rack is None else wish.rack,
        client_id=attempt.caller.client_id,
        client_host=attempt.caller.client_host,
        names=wish.topics,
        regex="",
        rebalance_timeout_ms=attempt.rebalance_timeout_ms,
        classic=ClassicMetadata(request.session_timeout_ms, tuple(attempt.protocols)),
    )


def _answered(
    groups: ConsumerGroups,
    seat: Seat,
    attempt: Join,
    current: CurrentAssignment,
    records: list[CoordinatorRecord],
) -> Outcome[None]:
    group_id, member_id = seat.group.group_id, seat.member_id
    extend_session(groups, group_id, member_id, attempt.request.session_timeout_ms)

    def committed() -> None:
        deadlines.joined(groups, group_id, member_id, attempt.rebalance_timeout_ms)
        attempt.reply.answer(_response(attempt, member_id, current.epoch))

    return Outcome(records, None, committed=committed, failed=lambda _: restore(groups, group_id, member_id))


def _response(attempt: Join, member_id: str, epoch: int) -> JoinGroupResponse:
    """As to a follower: whoever leads, it is not a member."""
    return JoinGroupResponse(
        member_id=member_id,
        generation_id=epoch,
        protocol_type=CONSUMER,
        protocol_name=attempt.protocols[0][0],
    )


def _downgraded(groups: ConsumerGroups, seat: Seat, attempt: Join, after: MemberMetadata) -> Outcome[None]:
    """A static member took the place of the last one of the newer protocol: the group is a classic one from now on.

    If everybody has what it should have, the member takes over what its predecessor had; else all have to join again,
    the newcomer too.
    """
    group, epoch = seat.group, seat.group.target_epoch
    members = {
        member_id: (member, group.target_of(member_id))
        for member_id, member in group.metadata.items()
        if member_id != seat.replaced
    }
    assert seat.replaced is not None
    members[seat.member_id] = (after, group.target_of(seat.replaced))
    same_wish = after.names == seat.before.names and not seat.before.regex
    settled = same_wish and group.epoch == group.target_epoch and _all_have_their_own(group)
    outcome = downgrade(groups, group, members, tombstones(group), None, rebalance=not settled)

    def committed() -> None:
        assert outcome.committed is not None
        outcome.committed()
        if settled:
            attempt.reply.answer(_response(attempt, seat.member_id, epoch))
        else:
            attempt.reply.answer(JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    return Outcome(outcome.records, None, committed=committed)


def _all_have_their_own(group: ConsumerGroup) -> bool:
    """Everybody owns exactly what it should own."""
    for member_id, _ in group.metadata.items():
        current = group.current_of(member_id)
        owned = {topic_id: tuple(sorted(partitions)) for topic_id, partitions in current.assigned.items()}
        if current.state != STABLE or owned != group.target_of(member_id):
            return False
    return True
