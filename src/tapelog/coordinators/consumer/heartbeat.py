"""ConsumerGroupHeartbeat, versions 0 and 1: the one request by which members join, live, change their mind and leave.

A request in epoch 0 joins; -1 leaves for good, -2 leaves for a while (static members); any other is a sign of life.
Fields that did not change are left out of requests; the answer carries an assignment when the member joined, said
everything, has another one than before, or may have missed an answer. One heartbeat costs what changes for its own
member; only the first one after the assignment interval pays for the whole group's targets.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.group import EMPTY
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.consumer import regexes
from tapelog.coordinators.consumer.assignors.spec import Assignment as Target
from tapelog.coordinators.consumer.checks import check_epoch, is_behind, reported_of
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import check_instance, check_known, leave, member_tombstones
from tapelog.coordinators.consumer.member import (
    JOINING_EPOCH,
    NEW_MEMBER,
    STATIC_LEAVING_EPOCH,
    UNREVOKED_PARTITIONS,
    CurrentAssignment,
    MemberMetadata,
    Owned,
)
from tapelog.coordinators.consumer.migration.upgrade import upgrade
from tapelog.coordinators.consumer.pace import next_heartbeat_ms
from tapelog.coordinators.consumer.reconcile import Goal, Reported, check_state, reconcile
from tapelog.coordinators.consumer.records import bytes_of, current_record, member_record, target_record
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.sessions import extend_session, restore, watch_revocation
from tapelog.coordinators.consumer.subscription import Seat, move_epoch, topics_with
from tapelog.coordinators.consumer.target import target_for
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome
from tapelog.coordinators.records import group_tombstone
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

ATOMIC_BYTES_MAX: Final = 128 * 1024
"""A change that takes about more than this may be spread over several batches; the targets' epoch is written last."""


def heartbeat(
    groups: ConsumerGroups, classic: ClassicGroups, caller: Caller, request: ConsumerGroupHeartbeatRequest
) -> Outcome[ConsumerGroupHeartbeatResponse]:
    """One heartbeat, of whatever kind. The request has been checked as far as no group is needed."""
    if request.member_epoch < JOINING_EPOCH:
        return leave(groups, request)
    records: list[CoordinatorRecord] = []
    reported = reported_of(request)
    joining = request.member_epoch == JOINING_EPOCH
    group = _group_for(groups, classic, request.group_id, joining, records)
    check_room(groups, group, request.member_id, request.instance_id)
    elsewhere = groups.is_elsewhere(group.group_id, request.member_id, caller.connection)
    seat = _seat(groups, group, request, reported, elsewhere, records)
    after = _updated(seat.before, caller, request)
    if after == seat.before and is_behind(seat.current, request.member_epoch, reported, elsewhere):
        current = seat.current  # one step further, and this heartbeat could not be answered once more
    else:
        current = move_on(groups, seat, after, reported, records)
    extend_session(groups, group.group_id, seat.member_id)
    response = ConsumerGroupHeartbeatResponse(
        member_id=seat.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=next_heartbeat_ms(groups, seat, current),
    )
    groups.heard(group.group_id, seat.member_id, caller.connection)
    if seat.replaced is not None and seat.replaced != seat.member_id:
        groups.forget_member(group.group_id, seat.replaced)
    if (
        joining
        or elsewhere
        or _says_everything(request)
        or current.assigned != seat.current.assigned
        or _missed_an_answer(request, seat, current)
    ):
        response.assignment = _assignment(current.assigned)
    converted = not group.is_empty and groups.find(group.group_id) is None
    return Outcome(
        records,
        response,
        failed=lambda _: restore(groups, group.group_id, seat.member_id),
        atomic=converted or bytes_of(records) <= ATOMIC_BYTES_MAX,
    )


def move_on(
    groups: ConsumerGroups,
    seat: Seat,
    after: MemberMetadata,
    reported: Reported | None,
    records: list[CoordinatorRecord],
) -> CurrentAssignment:
    """What becomes of a member, its group's epoch and targets, now that it wants that and owns what it reported.

    Adds the records of all that changed, and returns what the member owns from now on.
    """
    group, before, member_id = seat.group, seat.before, seat.member_id
    check_state(seat.current, reported)
    if after != before or seat.is_new:
        records.append(member_record(group.group_id, member_id, after))
    names_changed = after.names != before.names
    regex = regexes.note_change(groups, seat, after, records)
    epoch = group.epoch
    bump = names_changed or regex == regexes.CHANGED_AND_RESOLVED
    if bump or groups.has_news(group):
        epoch = move_epoch(groups, group, topics_with(seat, after), bump, records)
    target_epoch, target = target_for(groups, seat, after, epoch, records)
    changed = names_changed or regex != regexes.UNCHANGED
    unheard = changed or (seat.replaced or member_id) not in group.target
    seat.is_wish_new = unheard and (epoch > target_epoch or regex == regexes.CHANGED)
    current = reconciled(groups, seat, after, target_epoch, target, reported, changed)
    if current != seat.current:
        records.append(current_record(group.group_id, member_id, current))
        watch_revocation(groups, group.group_id, member_id, after, current)
    regexes.refresh_if_due(groups, group, before, after)
    return current


def _group_for(
    groups: ConsumerGroups, classic: ClassicGroups, group_id: str, joining: bool, records: list[CoordinatorRecord]
) -> ConsumerGroup:
    """The group; for somebody who joins, a new one, or one made of a classic group."""
    group = groups.find(group_id)
    if group is not None:
        return group
    former = classic.find(group_id)
    if not joining:
        what = "not found" if former is None else "not a consumer group"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is {what}.")
    if former is not None and former.state != EMPTY:
        return upgrade(groups, former, records)
    if group_id in classic.state.metadata:
        records.append(group_tombstone(group_id))
    return groups.store.fresh(group_id)


def check_room(groups: ConsumerGroups, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """GROUP_MAX_SIZE_REACHED for somebody new in a full group."""
    full = len(group.metadata) >= groups.config.members_max
    known = member_id in group.metadata or (instance_id or "") in group.instances
    if full and not known:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {groups.config.members_max} members.",
        )


def _seat(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    reported: Reported | None,
    elsewhere: bool,
    records: list[CoordinatorRecord],
) -> Seat:
    """The member's place: its own, a new one, or that of a static member that left for a while."""
    member_id = request.member_id or groups.new_member_id()
    instance_id = request.instance_id
    if request.member_epoch != JOINING_EPOCH:
        if instance_id is None:
            check_known(group, member_id)
        else:
            check_instance(group, member_id, instance_id)
        check_epoch(group.current_of(member_id), request.member_epoch, reported, elsewhere)
        return seat_of(group, member_id)
    left = group.current_of(member_id).epoch == STATIC_LEAVING_EPOCH
    if instance_id is None or group.instances.get(instance_id) in (None, None if left else member_id):
        return seat_of(group, member_id)
    return take_over(group, member_id, instance_id, False, records)


def seat_of(group: ConsumerGroup, member_id: str) -> Seat:
    """The place of a member by its id, known or not."""
    before = group.metadata.get(member_id)
    if before is None:
        return Seat(group, member_id, MemberMetadata(), NEW_MEMBER, is_new=True)
    return Seat(group, member_id, before, group.current_of(member_id))


def take_over(
    group: ConsumerGroup, member_id: str, instance_id: str, by_classic: bool, records: list[CoordinatorRecord]
) -> Seat:
    """A static member is back, under a new id or its own: it takes its place over, with all that it owned.

    UNRELEASED_INSTANCE_ID while the former one has not left; members of the classic protocol may always be taken over.
    """
    former_id = group.instances.get(instance_id)
    assert former_id is not None
    before = group.metadata.get(former_id)
    assert before is not None
    owned = group.current_of(former_id)
    if owned.epoch != STATIC_LEAVING_EPOCH and not by_classic and before.classic is None:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by member {former_id}.",
        )
    group_id = group.group_id
    current = CurrentAssignment(0, 0, owned.state, owned.assigned, owned.revoking)
    records += member_tombstones(group_id, former_id)
    records.append(member_record(group_id, member_id, before))
    records.append(target_record(group_id, member_id, group.target_of(former_id)))
    records.append(current_record(group_id, member_id, current))
    return Seat(group, member_id, before, current, replaced=former_id)


def reconciled(
    groups: ConsumerGroups,
    seat: Seat,
    after: MemberMetadata,
    target_epoch: int,
    target: Target,
    reported: Reported | None,
    subscription_changed: bool,
) -> CurrentAssignment:
    """The member's assignment after this heartbeat; the same object if nothing is left to do."""
    if not subscription_changed and seat.current.is_reconciled_to(target_epoch):
        return seat.current
    group, mine = seat.group, (seat.member_id, seat.replaced)

    def is_taken(topic_id: bytes, partition: int) -> bool:
        owner = group.owners.get((topic_id, partition))
        return owner is not None and owner not in mine

    subscribed = groups.watch.ids(group.subscribed_by(after))
    goal = Goal(target_epoch, target, subscribed, is_taken, reported, subscription_changed)
    return reconcile(seat.current, goal)


def _updated(before: MemberMetadata, caller: Caller, request: ConsumerGroupHeartbeatRequest) -> MemberMetadata:
    """The member with what the request says of it; what it leaves out stays as it was."""
    names, regex, timeout_ms = (
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.rebalance_timeout_ms,
    )
    return before._replace(
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack=before.rack if request.rack_id is None else request.rack_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        names=before.names if names is None else frozenset(names),
        regex=before.regex if regex is None else regex,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=before.assignor if request.server_assignor is None else request.server_assignor,
        classic=None,
    )


def _says_everything(request: ConsumerGroupHeartbeatRequest) -> bool:
    """A full request: the member is not sure that its last answer arrived."""
    subscribed = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribed and request.topic_partitions is not None


def _missed_an_answer(request: ConsumerGroupHeartbeatRequest, seat: Seat, current: CurrentAssignment) -> bool:
    """The member names an older epoch than it has, or does not give back what it was told to. Some clients send a
    heartbeat whose answer was lost again as it was, and would never hear of their assignment; an answer that is lost
    without such a trace was lost with its connection (`is_elsewhere`)."""
    return request.member_epoch != seat.current.epoch or current.state == UNREVOKED_PARTITIONS


def _assignment(owned: Owned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(owned[topic_id])) for topic_id in sorted(owned)
        ]
    )
