"""The rebalance itself: prepare, gather the members, start a generation; and the deadlines that drive it on.

Called by the handlers of join, sync and leave, and by deadlines. Every function that may finish a joining phase returns
the outcome to write: the only record of its own is that of a group that became empty.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.classic.group import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
    answer_sync,
)
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.coordinators.classic.registry import (
    ClassicGroups,
    empty_deadline,
    group_from_image,
    image_of,
    join_deadline,
    session_deadline,
    sync_deadline,
)
from tapelog.coordinators.outcome import Outcome, nothing
from tapelog.coordinators.records import group_metadata
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

NEW_MEMBER_TIMEOUT_MS: Final = 5 * 60 * 1000
"""A member that never had an answer cannot send heartbeats; this is how long its first JoinGroup may take."""

EMPTY_RETRY_MS: Final = 5000

# -- sessions


def extend_session(groups: ClassicGroups, group: ClassicGroup, member: ClassicMember, timeout_ms: int = -1) -> None:
    """The member was heard of: it has until then to be heard of again."""
    group_id, member_id = group.group_id, member.member_id
    groups.context.set_deadline(
        session_deadline(group_id, member_id),
        member.session_timeout_ms if timeout_ms < 0 else timeout_ms,
        lambda: expire_session(groups, group_id, member_id),
    )


def expect_pending(groups: ClassicGroups, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
    """An id was given out: its owner has until then to join with it."""
    group_id = group.group_id
    group.pending_joins[member_id] = None
    groups.context.set_deadline(
        session_deadline(group_id, member_id), timeout_ms, lambda: expire_session(groups, group_id, member_id)
    )
    oldest = groups.promise(group_id, member_id)
    if oldest is not None:
        groups.context.submit(lambda: _take_back(groups, *oldest))


def _take_back(groups: ClassicGroups, group_id: str, member_id: str) -> Outcome[None]:
    """Too many ids were given out since: who has not joined by now asks for another."""
    group = groups.active.get(group_id)
    if group is None or member_id not in group.pending_joins:
        return nothing()
    groups.context.deadlines.cancel(session_deadline(group_id, member_id))
    return expire_session(groups, group_id, member_id)


def expire_session(groups: ClassicGroups, group_id: str, member_id: str) -> Outcome[None]:
    """A member, or someone who was given an id, was not heard of in time."""
    group = groups.active.get(group_id)
    if group is None:
        return nothing()
    if member_id in group.pending_joins:
        group.remove(member_id)
        groups.settle(group)
        return _complete_if_all_joined(groups, group)
    member = group.members.get(member_id)
    if member is None or member.excused:
        return nothing()
    dismiss(group, member)
    if group.is_in(STABLE, COMPLETING_REBALANCE):
        return prepare(groups, group)
    return _complete_if_all_joined(groups, group)


def dismiss(group: ClassicGroup, member: ClassicMember) -> None:
    """Remove a member; if its JoinGroup is parked it hears that it is unknown, and may join anew."""
    group.answer_join(member, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


# -- the joining phase


def prepare_or_go_on(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """Membership changed: start a rebalance, or see whether the one under way has everybody now."""
    if group.state == PREPARING_REBALANCE:
        return go_on(groups, group)
    return prepare(groups, group)


def prepare(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """Start a rebalance: everybody has to join again."""
    if group.state == COMPLETING_REBALANCE:
        reset_assignments(groups, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    groups.context.deadlines.cancel(sync_deadline(group.group_id))
    first = group.state == EMPTY
    group.transition(PREPARING_REBALANCE, groups.wall_ms())
    if first:
        delay_ms = groups.config.initial_rebalance_delay_ms
        _wait_for_more(groups, group.group_id, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        return nothing()
    if group.all_joined:
        return complete_join(groups, group)
    _wait_for_members(groups, group)
    return nothing()


def go_on(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """Finish the joining phase if everybody is there. A group's first one always takes its initial delay."""
    if group.state == PREPARING_REBALANCE and group.previous_state != EMPTY:
        return _complete_if_all_joined(groups, group)
    return nothing()


def _complete_if_all_joined(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    if group.state == PREPARING_REBALANCE and group.all_joined:
        return complete_join(groups, group)
    return nothing()


def _wait_for_members(groups: ClassicGroups, group: ClassicGroup) -> None:
    group_id = group.group_id
    groups.context.set_deadline(
        join_deadline(group_id), group.rebalance_timeout_ms, lambda: _end_waiting(groups, group_id)
    )


def _end_waiting(groups: ClassicGroups, group_id: str) -> Outcome[None]:
    group = groups.active.get(group_id)
    if group is None or group.state != PREPARING_REBALANCE:
        return nothing()
    return complete_join(groups, group)


def _wait_for_more(groups: ClassicGroups, group_id: str, delay_ms: int, remaining_ms: int) -> None:
    groups.context.set_deadline(
        join_deadline(group_id), delay_ms, lambda: _end_initial_delay(groups, group_id, delay_ms, remaining_ms)
    )


def _end_initial_delay(groups: ClassicGroups, group_id: str, delay_ms: int, remaining_ms: int) -> Outcome[None]:
    """The initial delay passed: wait on if someone joined during it, within the rebalance timeout; else begin."""
    group = groups.active.get(group_id)
    if group is None or group.state != PREPARING_REBALANCE:
        return nothing()
    if group.new_member_added and remaining_ms != 0:
        group.new_member_added = False
        next_delay_ms = min(groups.config.initial_rebalance_delay_ms, remaining_ms)
        _wait_for_more(groups, group_id, next_delay_ms, max(remaining_ms - delay_ms, 0))
        return nothing()
    return complete_join(groups, group)


def complete_join(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """The joining phase is over: drop who stayed away, start the next generation, answer everybody."""
    group_id = group.group_id
    deadlines = groups.context.deadlines
    deadlines.cancel(join_deadline(group_id))
    for member in [m for m in group.members.values() if m.awaiting_join is None and not m.is_static]:
        group.remove(member.member_id)
        deadlines.cancel(session_deadline(group_id, member.member_id))
    if group.members and not group.elect_joined_leader():
        # Only static members are left and none has come back: wait until one does, or their sessions end.
        _wait_for_members(groups, group)
        return nothing()
    group.new_member_added = False
    group.next_generation(groups.wall_ms())
    if not group.members:
        return _write_empty(groups, group)
    for member in group.members.values():
        group.answer_join(member, join_response(group, member.member_id))
        extend_session(groups, group, member)
        member.is_new = False
        group.pending_syncs[member.member_id] = None
    generation = group.generation
    groups.context.set_deadline(
        sync_deadline(group_id), group.rebalance_timeout_ms, lambda: _expire_syncs(groups, group_id, generation)
    )
    return nothing()


def _write_empty(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """Write down that the last member has gone; again later if that fails, or a new coordinator would wait for them."""
    generation = group.generation

    def still_empty() -> bool:
        return groups.active.get(group.group_id) is group and group.state == EMPTY and group.generation == generation

    def failed(_: ErrorCode) -> None:
        if still_empty():
            groups.context.set_deadline(
                empty_deadline(group.group_id),
                EMPTY_RETRY_MS,
                lambda: _write_empty(groups, group) if still_empty() else nothing(),
            )

    record = group_metadata(group.group_id, image_of(group, {}))
    return Outcome([record], None, committed=lambda: groups.settle(group), failed=failed)


def join_response(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """The current generation, as one member is told it; the leader also hears who is in it."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        member_id=member_id,
        members=group.roster() if group.leader == member_id else [],
    )


# -- the syncing phase


def _expire_syncs(groups: ClassicGroups, group_id: str, generation: int) -> Outcome[None]:
    """Some members of this generation never asked for their assignment: the others rebalance without them."""
    group = groups.active.get(group_id)
    if group is None or group.generation != generation or not group.is_in(COMPLETING_REBALANCE, STABLE):
        return nothing()
    if not group.pending_syncs:
        return nothing()
    for member_id in list(group.pending_syncs):
        group.remove(member_id)
        groups.context.deadlines.cancel(session_deadline(group_id, member_id))
    return prepare(groups, group)


def reset_assignments(groups: ClassicGroups, group: ClassicGroup, error: ErrorCode) -> None:
    """The generation came to nothing: nobody has an assignment, and whoever waits for one hears why."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(member, SyncGroupResponse(error_code=error)):
            extend_session(groups, group, member)


def activate(groups: ClassicGroups, only: str | None = None) -> None:
    """After loading or an undo: groups that have members by their record expect heartbeats from them again."""
    images = groups.state.metadata
    for group_id in sorted(group_id for group_id, _ in images.items()) if only is None else [only]:
        image = images.get(group_id)
        if image is None or not image.members or group_id in groups.active:
            continue
        group = group_from_image(group_id, image)
        groups.keep(group)
        for member in group.members.values():
            extend_session(groups, group, member)
        if image.leader is None or len(group.members) > groups.config.members_max:
            groups.context.submit(lambda group=group: _begin_anew(groups, group))  # type: ignore[misc]


def _begin_anew(groups: ClassicGroups, group: ClassicGroup) -> Outcome[None]:
    """What the record says cannot stay: there are too many members, or nobody led them to it (once, they were members
    of a consumer group)."""
    stable = group.state == STABLE and groups.active.get(group.group_id) is group
    return prepare(groups, group) if stable else nothing()
