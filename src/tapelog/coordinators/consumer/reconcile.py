"""Bringing one member towards its target: give back first, then take what is free. Pure decisions.

A member that has to give something back stays in its epoch until its heartbeat shows that it did; then it moves to
the epoch of the target and gets what nobody else owns; what others still own it gets later. So no partition ever has
two owners, and nobody waits for anybody except for the partitions it is about to take over.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from tapelog.coordinators.consumer.assignors.spec import Assignment
from tapelog.coordinators.consumer.member import (
    STABLE,
    UNKNOWN,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    CurrentAssignment,
    Owned,
)
from tapelog.wire.errors import ErrorCode, KafkaError

Reported = Mapping[bytes, AbstractSet[int]]
"""What a member says it owns."""

_NONE: Final[Mapping[int, int]] = {}


class Goal:
    """What a member is brought towards, and what may stand in the way."""

    __slots__ = ("epoch", "is_taken", "reported", "subscribed", "subscription_changed", "target")

    def __init__(
        self,
        epoch: int,
        target: Assignment,
        subscribed: Container[bytes],
        is_taken: Callable[[bytes, int], bool],
        reported: Reported | None,
        subscription_changed: bool,
    ) -> None:
        self.epoch = epoch
        self.target = target
        self.subscribed = subscribed
        """Ids of the topics the member reads now; the target may be older than that."""
        self.is_taken = is_taken
        """Whether some member owns that partition."""
        self.reported = reported
        """None if the member did not say."""
        self.subscription_changed = subscription_changed


def check_state(member: CurrentAssignment, reported: Reported | None) -> None:
    """FENCED_MEMBER_EPOCH in a state from the future, unless the member shows that it owns nothing."""
    if member.state == UNKNOWN and (reported is None or len(reported) > 0):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The member is in a state that is not known here: it must abandon all its partitions and rejoin.",
        )


def reconcile(member: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """The member's next state; the same object if there is nothing to do now."""
    check_state(member, goal.reported)
    if member.state == UNKNOWN:
        return _advance(member, goal, goal.epoch)
    if member.state == STABLE and member.epoch == goal.epoch:
        return _unsubscribe(member, goal) if goal.subscription_changed else member
    if member.state == UNREVOKED_PARTITIONS and _still_owns(goal.reported, member.revoking):
        return _unsubscribe(member, goal) if goal.subscription_changed else member
    return _advance(member, goal, member.epoch)


def _still_owns(reported: Reported | None, revoking: Owned) -> bool:
    """The member has not shown that it gave all of these back."""
    if reported is None:
        return True
    return any(
        partition in reported[topic_id]
        for topic_id, partitions in revoking.items()
        if topic_id in reported
        for partition in partitions
    )


def _unsubscribe(member: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """The target does not change yet, but what the member stopped reading goes at once."""
    lost = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id not in goal.subscribed}
    if not lost:
        return member
    kept = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id not in lost}
    revoking = {topic_id: dict(owned) for topic_id, owned in member.revoking.items()}
    for topic_id, owned in lost.items():
        revoking.setdefault(topic_id, {}).update(owned)
    if _still_owns(goal.reported, revoking):
        return CurrentAssignment(member.epoch, member.epoch, UNREVOKED_PARTITIONS, kept, revoking)
    return CurrentAssignment(member.epoch, member.epoch, member.state, kept, member.revoking)


def _advance(member: CurrentAssignment, goal: Goal, epoch: int) -> CurrentAssignment:
    """What it has and should have it keeps; the rest it gives back; then it takes what it should have and is free."""
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    gained: dict[bytes, list[int]] = {}
    unreleased = False
    for topic_id in sorted({*goal.target, *member.assigned}):
        target = goal.target.get(topic_id, ()) if topic_id in goal.subscribed else ()
        owned = member.assigned.get(topic_id, _NONE)
        giving_back = member.revoking.get(topic_id, _NONE)
        wanted = frozenset(target)
        stays = {partition: since for partition, since in owned.items() if partition in wanted}
        goes = {partition: since for partition, since in owned.items() if partition not in wanted}
        missing = [partition for partition in target if partition not in owned]
        # What this member itself is giving back is in nobody else's way.
        free = [p for p in missing if p in giving_back or not goal.is_taken(topic_id, p)]
        unreleased = unreleased or len(free) < len(missing)
        if stays:
            kept[topic_id] = stays
        if goes:
            revoking[topic_id] = goes
        if free:
            gained[topic_id] = free
    if revoking and _still_owns(goal.reported, revoking):
        return CurrentAssignment(epoch, member.epoch, UNREVOKED_PARTITIONS, kept, revoking)
    for topic_id, partitions in gained.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(partitions, goal.epoch))
    state = UNRELEASED_PARTITIONS if unreleased else STABLE
    advanced = CurrentAssignment(goal.epoch, member.epoch, state, kept, {})
    # It waits as before: that its previous epoch is older by now is not worth a record.
    return member if advanced._replace(previous_epoch=member.previous_epoch) == member else advanced
